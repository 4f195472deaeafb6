// Connect to a Sheaf server, write rows and search them: Arrow for rows, JSON for questions.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

const stream = "application/vnd.apache.arrow.stream"

var fields = []arrow.Field{
	{Name: "id", Type: arrow.PrimitiveTypes.Int64},
	{Name: "title", Type: arrow.BinaryTypes.String},
	{Name: "vector", Type: arrow.FixedSizeListOf(2, arrow.PrimitiveTypes.Float32)},
}

// call posts a body and gives the reply; a status that is not 2xx ends the program with the server's words.
func call(path, contentType string, body []byte) *bytes.Reader {
	request, err := http.NewRequest("POST", os.Getenv("SHEAF_URL")+"/v1/table/go_docs"+path, bytes.NewReader(body))
	check(err)
	request.Header.Set("content-type", contentType)
	response, err := http.DefaultClient.Do(request)
	check(err)
	defer response.Body.Close()
	reply, err := io.ReadAll(response.Body)
	check(err)
	if response.StatusCode >= 300 {
		log.Fatalf("%s: %s", response.Status, reply)
	}
	return bytes.NewReader(reply)
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func main() {
	rows := `[{"id": 1, "title": "red", "vector": [1, 0]}, {"id": 2, "title": "green", "vector": [0, 1]}, {"id": 3, "title": "blue", "vector": [0.9, 0.1]}]`
	schema := arrow.NewSchema(fields, nil)
	record, _, err := array.RecordFromJSON(memory.DefaultAllocator, schema, strings.NewReader(rows))
	check(err)
	var body bytes.Buffer
	writer := ipc.NewWriter(&body, ipc.WithSchema(schema))
	check(writer.Write(record))
	check(writer.Close())
	call("/create?mode=overwrite", stream, body.Bytes())

	query, err := json.Marshal(map[string]any{"vector": []float32{1, 0}, "k": 2, "columns": []string{"id", "title"}, "filter": "id < 10"})
	check(err)
	file, err := ipc.NewFileReader(call("/query", "application/json", query))
	check(err)
	for i := range file.NumRecords() {
		batch, err := file.RecordBatch(i)
		check(err)
		ids, titles := batch.Column(0).(*array.Int64), batch.Column(1).(*array.String)
		for row := range int(batch.NumRows()) {
			fmt.Println(ids.Value(row), titles.Value(row))
		}
	}
}
