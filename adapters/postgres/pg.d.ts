/** The parts of the package `pg` that Sheaf uses. The package is optional, and not installed here. */
declare module 'pg' {
  export interface Query {
    readonly text: string
    readonly values: unknown[]
    readonly rowMode: 'array'
    readonly types: { readonly getTypeParser: () => (value: unknown) => unknown }
  }

  export interface PoolClient {
    readonly host: string
    readonly port: number
    readonly database?: string
    query(query: Query): Promise<{ readonly rows: readonly (readonly (string | null)[])[] }>
    on(event: 'error' | 'end', listener: (error?: Error) => void): void
    on(event: 'notification', listener: () => void): void
    off(event: 'error', listener: (error?: Error) => void): void
    release(destroy: boolean): void
  }

  export class Pool {
    constructor(config: object)
    connect(): Promise<PoolClient>
    on(event: 'error', listener: (error: Error) => void): void
    end(): Promise<void>
  }

  const pg: { readonly Pool: typeof Pool }
  export default pg
}
