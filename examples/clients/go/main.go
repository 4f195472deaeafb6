// Connect to a Sheaf server, write rows and search them: Arrow for rows, JSON for questions.
package main

import (
	"bytes"
	"fmt"
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"io"
	"log"
	"net/http"
	"os"
	"strings"
)

var schema = arrow.NewSchema([]arrow.Field{
	{Name: "id", Type: arrow.PrimitiveTypes.Int64}, {Name: "title", Type: arrow.BinaryTypes.String},
	{Name: "vector", Type: arrow.FixedSizeListOf(2, arrow.PrimitiveTypes.Float32)},
}, nil)

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// call posts a body and gives the reply; a status that is not 2xx ends the program with the server's words.
func call(path, contentType string, body []byte) *bytes.Reader {
	response, err := http.Post(os.Getenv("SHEAF_URL")+"/v1/table/go_docs"+path, contentType, bytes.NewReader(body))
	check(err)
	defer response.Body.Close()
	reply, err := io.ReadAll(response.Body)
	check(err)
	if response.StatusCode >= 300 {
		log.Fatalf("%s: %s", response.Status, reply)
	}
	return bytes.NewReader(reply)
}

func main() {
	rows := `[{"id": 1, "title": "red", "vector": [1, 0]}, {"id": 2, "title": "green", "vector": [0, 1]}, {"id": 3, "title": "blue", "vector": [0.9, 0.1]}]`
	record, _, err := array.RecordFromJSON(memory.DefaultAllocator, schema, strings.NewReader(rows))
	check(err)
	var body bytes.Buffer
	writer := ipc.NewWriter(&body, ipc.WithSchema(schema))
	check(writer.Write(record))
	check(writer.Close())
	call("/create?mode=overwrite", "application/vnd.apache.arrow.stream", body.Bytes())
	file, err := ipc.NewFileReader(call("/query", "application/json", []byte(`{"vector": [1, 0], "k": 2, "columns": ["id", "title"], "filter": "id < 10"}`)))
	check(err)
	for i := range file.NumRecords() {
		batch, err := file.RecordBatch(i)
		check(err)
		for row := range int(batch.NumRows()) {
			fmt.Println(batch.Column(0).ValueStr(row), batch.Column(1).ValueStr(row))
		}
	}
}
