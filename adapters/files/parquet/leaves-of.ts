/** The nodes of a plan for reading or writing a column. `L`: type of the leaves. */
type PlanNode<L> =
  | L
  | { readonly kind: 'struct'; readonly children: readonly PlanNode<L>[] }
  | { readonly kind: 'list'; readonly child: PlanNode<L> }

/** Return the leaves of a plan, in the order of the file. */
export function leavesOf<L extends { readonly kind: 'leaf' }>(plan: PlanNode<L>): L[] {
  switch (plan.kind) {
    case 'leaf':
      return [plan]
    case 'struct':
      return plan.children.flatMap(child => leavesOf<L>(child))
    case 'list':
      return leavesOf<L>(plan.child)
  }
}
