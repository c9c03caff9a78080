import com.sun.management.OperatingSystemMXBean;
import java.io.BufferedOutputStream;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.IntBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.*;
import org.apache.jena.datatypes.TypeMapper;
import org.apache.jena.graph.*;
import org.apache.jena.query.*;
import org.apache.jena.rdf.model.*;
import org.apache.jena.reasoner.*;
import org.apache.jena.reasoner.rulesys.*;
import org.apache.jena.sparql.engine.binding.Binding;
import org.apache.jena.sparql.graph.GraphFactory;

/**
 * Apache Jena: `java Jena arq|rete|rdfs JOB OUT` (see job.py).
 *
 * arq   a graph in memory whose triples come and go, asked anew at each slide; every solution is read
 * rete  rules kept by GenericRuleReasoner in RETE mode: triples come and go, what follows is kept up to date
 * rdfs  the simple RDFS reasoner: bound anew at each slide, and asked for everything
 */
public class Jena {
    static final String RDFS = "http://www.w3.org/2000/01/rdf-schema#";
    static final String RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#";
    static final String CLOSURE = "[(?a <urn:isIn> ?b) (?b <urn:isIn> ?c) -> (?a <urn:isIn> ?c)]";
    static final String ENTAILED = """
        [(?c <R#subClassOf> ?d) (?d <R#subClassOf> ?e) -> (?c <R#subClassOf> ?e)]
        [(?p <R#subPropertyOf> ?q) (?q <R#subPropertyOf> ?r) -> (?p <R#subPropertyOf> ?r)]
        [(?p <R#subPropertyOf> ?q) (?s ?p ?o) -> (?s ?q ?o)]
        [(?p <R#domain> ?c) (?s ?p ?o) -> (?s <T> ?c)]
        [(?p <R#range> ?c) (?s ?p ?o) -> (?o <T> ?c)]
        [(?c <R#subClassOf> ?d) (?x <T> ?c) -> (?x <T> ?d)]
        """.replace("R#", RDFS).replace("<T>", "<" + RDF + "type>");

    final Path source, target;
    final Map<String, String> said = new HashMap<>();
    final List<String> texts;
    final Node[] terms;
    final Map<Node, Integer> place = new HashMap<>();
    final IntBuffer stream, background;
    final int[] tenths;
    final String kind;
    final int width, count, warm, slides, arity;
    final List<Double> wall = new ArrayList<>(), cpu = new ArrayList<>();
    static final OperatingSystemMXBean PROCESS = ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class);

    Jena(Path source, Path target) throws IOException {
        this.source = source;
        this.target = target;
        for (String line : Files.readAllLines(source.resolve("job.txt"))) {
            String[] pair = line.split(" ", 2);
            said.put(pair[0], pair[1]);
        }
        kind = said.get("kind");
        width = number("width"); count = number("count"); warm = number("warm"); slides = number("slides");
        arity = number("arity");
        texts = Files.readAllLines(source.resolve("queries.txt"));
        terms = Files.readAllLines(source.resolve("terms.txt")).stream().map(Jena::term).toArray(Node[]::new);
        for (int n = 0; n < terms.length; n++) place.put(terms[n], n);
        stream = numbers("stream"); background = numbers("background");
        IntBuffer values = numbers("tenths");
        tenths = new int[values.remaining()];
        values.get(tenths);
    }

    int number(String name) { return Integer.parseInt(said.get(name)); }

    static Node term(String text) {
        if (text.startsWith("<")) return NodeFactory.createURI(text.substring(1, text.length() - 1));
        String[] parts = text.split("\\^\\^");
        return NodeFactory.createLiteral(parts[0].substring(1, parts[0].length() - 1),
            TypeMapper.getInstance().getSafeTypeByName(parts[1].substring(1, parts[1].length() - 1)));
    }

    IntBuffer numbers(String name) throws IOException {
        byte[] bytes = Files.readAllBytes(source.resolve(name + ".bin"));
        return ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN).asIntBuffer();
    }

    List<Triple> triples(IntBuffer from, int first, int last) {
        List<Triple> found = new ArrayList<>(last - first);
        for (int row = first; row < last; row++)
            found.add(Triple.create(
                terms[from.get(3 * row)], terms[from.get(3 * row + 1)], terms[from.get(3 * row + 2)]));
        return found;
    }

    interface Work { Object slide(List<Triple> added, List<Triple> removed); }
    interface Rows { List<int[]> of(Object answer); }

    void measure(Work work, Rows rows) throws IOException {
        try (var file = new BufferedOutputStream(Files.newOutputStream(target.resolve("answers.bin")))) {
            for (int slide = 0; slide < warm + slides; slide++) {
                var added = triples(stream, (width + slide) * count, (width + slide + 1) * count);
                var removed = triples(stream, slide * count, (slide + 1) * count);
                long used = PROCESS.getProcessCpuTime(), begun = System.nanoTime();
                Object answer = work.slide(added, removed);
                long took = System.nanoTime() - begun, worked = PROCESS.getProcessCpuTime() - used;
                if (slide < warm) continue;
                wall.add(took / 1e9);
                cpu.add(worked / 1e9);
                List<int[]> found = rows.of(answer);
                var bytes = ByteBuffer.allocate(4 + 4 * arity * found.size()).order(ByteOrder.LITTLE_ENDIAN);
                bytes.putInt(found.size());
                for (int[] row : found) for (int value : row) bytes.putInt(value);
                file.write(bytes.array());
            }
        }
    }

    void finish(String reason) throws IOException {
        String version = "\"version\": \"" + org.apache.jena.Jena.VERSION + "\"";
        Files.writeString(target.resolve("times.json"), reason == null
            ? "{" + version + ", \"wall\": " + wall + ", \"cpu\": " + cpu + "}"
            : "{" + version + ", \"reason\": \"" + reason + "\"}");
        System.exit(0);
    }

    Graph full() {
        Graph graph = GraphFactory.createDefaultGraph();
        triples(background, 0, background.limit() / 3).forEach(graph::add);
        triples(stream, 0, width * count).forEach(graph::add);
        return graph;
    }

    void arq() throws IOException {
        if (kind.equals("rdfs")) finish("a query engine does not entail");
        Graph graph = full();
        Model model = ModelFactory.createModelForGraph(graph);
        List<Query> queries = texts.stream().map(QueryFactory::create).toList();
        measure((added, removed) -> {
            removed.forEach(graph::delete);
            added.forEach(graph::add);
            List<List<Binding>> told = new ArrayList<>();
            for (Query query : queries)
                try (QueryExecution execution = QueryExecutionFactory.create(query, model)) {
                    List<Binding> solutions = new ArrayList<>();
                    ResultSet set = execution.execSelect();
                    while (set.hasNext()) solutions.add(set.nextBinding());
                    told.add(solutions);
                }
            return told;
        }, answer -> {
            List<int[]> found = new ArrayList<>();
            @SuppressWarnings("unchecked") var told = (List<List<Binding>>) answer;
            for (int number = 0; number < told.size(); number++) {
                var names = queries.get(number).getProjectVars();
                for (Binding row : told.get(number)) {
                    Node[] cells = names.stream().map(row::get).toArray(Node[]::new);
                    if (kind.equals("analytic")) {
                        int rows = decimal(cells[3]).intValue();
                        var sum = decimal(cells[1]).multiply(BigDecimal.TEN).multiply(BigDecimal.valueOf(rows));
                        found.add(new int[] {place.get(cells[0]), (int) Math.round(sum.doubleValue()),
                                             decimal(cells[2]).movePointRight(1).intValue(), rows});
                    } else if (kind.equals("many")) {
                        int value = tenths[place.get(cells[2])];
                        found.add(new int[] {number, place.get(cells[0]), place.get(cells[1]), value});
                    } else {
                        found.add(new int[] {place.get(cells[0]), place.get(cells[1])});
                    }
                }
            }
            return found;
        });
    }

    static BigDecimal decimal(Node node) { return new BigDecimal(node.getLiteralLexicalForm()); }

    void rete() throws IOException {
        if (!kind.equals("closure") && !kind.equals("rdfs")) finish("its rules entail, they answer nothing");
        var reasoner = new GenericRuleReasoner(Rule.parseRules(kind.equals("closure") ? CLOSURE : ENTAILED));
        reasoner.setMode(GenericRuleReasoner.FORWARD_RETE);
        InfGraph inferred = reasoner.bind(full());
        inferred.prepare();
        measure((added, removed) -> {
            removed.forEach(inferred::delete);
            added.forEach(inferred::add);
            inferred.prepare();
            return inferred;
        }, answer -> rows(inferred.find(Node.ANY, Node.ANY, Node.ANY).toList()));
    }

    void rdfs() throws IOException {
        if (!kind.equals("rdfs")) finish("it has the rules of RDFS, and no others");
        Graph graph = full();
        Reasoner reasoner = ReasonerRegistry.getRDFSSimpleReasoner();
        measure((added, removed) -> {
            removed.forEach(graph::delete);
            added.forEach(graph::add);
            InfGraph inferred = reasoner.bind(graph);
            inferred.prepare();
            return inferred.find(Node.ANY, Node.ANY, Node.ANY).toList();
        }, answer -> {
            @SuppressWarnings("unchecked") var all = (List<Triple>) answer;
            return rows(all);
        });
    }

    /** What the job asks for: the pairs of the closure, or all that is said of entities, each once. */
    List<int[]> rows(List<Triple> all) {
        List<int[]> found = new ArrayList<>();
        int least = kind.equals("rdfs") ? number("name.entity") : -1;
        for (Triple triple : new LinkedHashSet<>(all)) {
            Integer s = place.get(triple.getSubject()), o = place.get(triple.getObject());
            Integer p = place.get(triple.getPredicate());
            if (s == null || p == null || o == null || s < least) continue;
            if (kind.equals("closure")) {
                if (p == number("name.isIn")) found.add(new int[] {s, o});
            } else {
                found.add(new int[] {s, p, o});
            }
        }
        return found;
    }

    public static void main(String[] arguments) throws IOException {
        var jena = new Jena(Path.of(arguments[1]), Path.of(arguments[2]));
        switch (arguments[0]) {
            case "arq" -> jena.arq();
            case "rete" -> jena.rete();
            default -> jena.rdfs();
        }
        jena.finish(null);
    }
}
