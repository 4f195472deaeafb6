// Reads a history of calls from standard input, one JSON object per line, and prints "linearizable" or the name of an object
// whose calls are not. The checker is porcupine. Every object has a history of its own:
//
//	key   a set with one key: add, has
//	tag   a register: set, get
//	table a counter of versions: create (of the version after the newest one), newest
//
// A call without an outcome has no field "returned". It may take effect at any later time, or never.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"time"

	"github.com/anishathalye/porcupine"
)

type call struct {
	Object   string `json:"object"`
	Name     string `json:"name"`
	Argument int    `json:"argument"`
	Called   int64  `json:"called"`
	Returned *int64 `json:"returned"`
	Result   *int   `json:"result"`
	Caller   int    `json:"caller"`
}

// The state of an object is a number: 1 for a present key, the version of a tag, the newest version of a table.
func step(state, input, output interface{}) (bool, interface{}) {
	now, in, out := state.(int), input.(call), output.(call)
	known := out.Returned != nil
	switch in.Name {
	case "add":
		return true, 1
	case "set":
		return true, in.Argument
	case "create":
		fits := in.Argument == now+1
		if known && (*out.Result == 1) != fits {
			return false, now
		}
		if fits {
			return true, in.Argument
		}
		return true, now
	default: // has, get, newest
		return !known || *out.Result == now, now
	}
}

func main() {
	histories := map[string][]porcupine.Operation{}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	calls := 0
	for lines.Scan() {
		var c call
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			fmt.Println("cannot read the history:", err)
			os.Exit(2)
		}
		returned := int64(math.MaxInt64)
		if c.Returned != nil {
			returned = *c.Returned
		}
		operation := porcupine.Operation{ClientId: c.Caller, Input: c, Call: c.Called, Output: c, Return: returned}
		histories[c.Object] = append(histories[c.Object], operation)
		calls++
	}
	model := porcupine.Model{Init: func() interface{} { return 0 }, Step: step}
	for object, history := range histories {
		if result := porcupine.CheckOperationsTimeout(model, history, time.Minute); result != porcupine.Ok {
			fmt.Println(result, object)
			os.Exit(1)
		}
	}
	fmt.Println("linearizable:", calls, "calls of", len(histories), "objects")
}
