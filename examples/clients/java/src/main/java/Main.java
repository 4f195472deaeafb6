import java.io.ByteArrayOutputStream;
import java.util.List;
import org.apache.arrow.memory.RootAllocator;
import org.apache.arrow.vector.*;
import org.apache.arrow.vector.complex.FixedSizeListVector;
import org.apache.arrow.vector.ipc.*;
import org.apache.arrow.vector.types.FloatingPointPrecision;
import org.apache.arrow.vector.types.pojo.*;
import org.apache.arrow.vector.util.ByteArrayReadableSeekableByteChannel;
import org.apache.arrow.vector.util.Text;
import org.lance.namespace.client.apache.ApiClient;
import org.lance.namespace.client.apache.api.DataApi;
import org.lance.namespace.model.*;

/** Connect to a Sheaf server, write rows and search them, with the generated client and Arrow. */
public class Main {
  public static void main(String[] args) throws Exception {
    DataApi data = new DataApi(new ApiClient().setBasePath(System.getenv("SHEAF_URL")));
    ArrowType float32 = new ArrowType.FloatingPoint(FloatingPointPrecision.SINGLE);
    Field element = Field.nullable("item", float32);
    Schema schema = new Schema(List.of(
        Field.nullable("id", new ArrowType.Int(64, true)),
        Field.nullable("title", new ArrowType.Utf8()),
        new Field("vector", FieldType.nullable(new ArrowType.FixedSizeList(2)), List.of(element))));
    String[] titles = {"red", "green", "blue"};
    float[] cells = {1, 0, 0, 1, 0.9f, 0.1f};
    try (var memory = new RootAllocator(); var rows = VectorSchemaRoot.create(schema, memory)) {
      var vectors = (FixedSizeListVector) rows.getVector("vector");
      for (int row = 0; row < titles.length; row++) {
        ((BigIntVector) rows.getVector("id")).setSafe(row, row + 1);
        ((VarCharVector) rows.getVector("title")).setSafe(row, new Text(titles[row]));
        vectors.setNotNull(row);
      }
      for (int i = 0; i < cells.length; i++) ((Float4Vector) vectors.getDataVector()).setSafe(i, cells[i]);
      rows.setRowCount(titles.length);
      var body = new ByteArrayOutputStream();
      try (var writer = new ArrowStreamWriter(rows, null, body)) {
        writer.writeBatch();
      }
      data.createTable("java_docs", body.toByteArray(), null, "overwrite", null, null);
      var query = new QueryTableRequest()
          .vector(new QueryTableRequestVector().singleVector(List.of(1f, 0f)))
          .columns(new QueryTableRequestColumns().columnNames(List.of("id", "title")))
          .filter("id < 10")
          .k(2);
      byte[] reply = data.queryTable("java_docs", query, null);
      try (var file = new ArrowFileReader(new ByteArrayReadableSeekableByteChannel(reply), memory)) {
        VectorSchemaRoot found = file.getVectorSchemaRoot();
        while (file.loadNextBatch())
          for (int row = 0; row < found.getRowCount(); row++)
            System.out.println(found.getVector("id").getObject(row) + " " + found.getVector("title").getObject(row));
      }
    }
  }
}
