/* Lines of N-Triples and N-Quads, as columns of ids.
 *
 * Read is what is canonical beyond doubt: what a parser would take, and a serializer write again byte by byte. Wherever
 * there is a doubt, nothing is read: somebody else reads the body then, and says what is wrong with it, if anything is.
 * So the grammar here is a part of the standard's, and no character is looked at twice.
 *
 * A body ends with a line feed. That is in none of the classes of characters: nothing that is looked for is looked for
 * beyond the end. */
#include <stdlib.h>

#include "kernel.h"
#include "terms.h"

enum { LONGEST_LINE = 1 << 20, MOST_LINES = 1 << 29 };

enum {
    LETTER = 1, /* A-Z a-z */
    SCHEME = 2, /* and digits + - . */
    HOST = 4,   /* letters, digits - . _ ~ */
    PATH = 8,   /* what stands for itself in a path, a query or a fragment, but ? */
    LABEL = 16, /* letters, digits _ - */
    TEXT = 32,  /* what stands for itself in a literal */
    LOWER = 64, /* a-z */
    DIGIT = 128,
};

static uint8_t classes[256];

static void learn_classes(void)
{
    if (classes['a'])
        return;
    uint8_t learnt[256] = {0};
    for (int c = ' '; c < 127; c++)
        if (c != '"' && c != '\\')
            learnt[c] = TEXT;
    for (int c = 'A'; c <= 'Z'; c++) {
        learnt[c] |= LETTER | SCHEME | HOST | PATH | LABEL;
        learnt[c - 'A' + 'a'] |= LETTER | SCHEME | HOST | PATH | LABEL | LOWER;
    }
    for (int c = '0'; c <= '9'; c++)
        learnt[c] |= SCHEME | HOST | PATH | LABEL | DIGIT;
    for (const char *c = "+-."; *c; c++)
        learnt[(uint8_t)*c] |= SCHEME;
    for (const char *c = "-._~"; *c; c++)
        learnt[(uint8_t)*c] |= HOST;
    for (const char *c = "._~:@!$&'()*+,;=/-"; *c; c++)
        learnt[(uint8_t)*c] |= PATH;
    for (const char *c = "_-"; *c; c++)
        learnt[(uint8_t)*c] |= LABEL;
    memcpy(classes, learnt, sizeof classes);
}

static inline int is(const uint8_t *p, int of) { return classes[*p] & of; }

/* How many bytes a character beyond ASCII takes that is a usual one, in UTF-8; 0 for what is none. `narrow`: only up to
 * U+D7FF, which an IRI may have, too. */
static inline int wide(const uint8_t *p, int narrow)
{
#define REST(i) ((p[i] & 0xc0) == 0x80)
    if (*p < 0xc2)
        return 0;
    if (*p < 0xe0) /* from U+00A0 on: before it are control characters */
        return REST(1) && (*p > 0xc2 || p[1] >= 0xa0) ? 2 : 0;
    if (*p < 0xf0) {
        if (!REST(1) || !REST(2) || (*p == 0xe0 && p[1] < 0xa0) || (*p == 0xed && p[1] >= 0xa0))
            return 0;
        if (narrow ? *p > 0xed : *p == 0xef && p[1] == 0xbf && p[2] >= 0xbe)
            return 0;
        return 3;
    }
    if (narrow || *p > 0xf4 || !REST(1) || !REST(2) || !REST(3))
        return 0;
    if ((*p == 0xf0 && p[1] < 0x90) || (*p == 0xf4 && p[1] >= 0x90))
        return 0;
    return 4;
#undef REST
}

static inline int hexadecimal(uint8_t c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'F') || (c >= 'a' && c <= 'f');
}

/* What a path is made of; `question`: a query, or a fragment. */
static const uint8_t *path(const uint8_t *p, int question)
{
    for (;;) {
        int bytes;
        if (is(p, PATH) || (question && *p == '?'))
            p++;
        else if (*p == '%' && hexadecimal(p[1]) && hexadecimal(p[2]))
            p += 3;
        else if (*p >= 0x80 && (bytes = wide(p, 1)))
            p += bytes;
        else
            return p;
    }
}

/* These take what begins at `p`, and return where it ends; NULL where it is in doubt. */
static const uint8_t *iri(const uint8_t *p)
{
    if (*p++ != '<' || !is(p, LETTER))
        return NULL;
    while (is(p, SCHEME))
        p++;
    if (*p++ != ':')
        return NULL;
    if (*p == '/') {
        if (*++p != '/' || !is(++p, HOST))
            return NULL;
        while (is(p, HOST))
            p++;
        if (*p == ':') {
            const uint8_t *port = ++p;
            while (is(p, DIGIT))
                p++;
            if (p == port || p - port > 5)
                return NULL;
        }
        if (*p != '/' && *p != '?' && *p != '#' && *p != '>')
            return NULL;
    } else if (*p == '?' || *p == '#' || *p == '>') {
        return NULL; /* no path at all */
    }
    p = path(p, 0);
    if (*p == '?')
        p = path(p + 1, 1);
    if (*p == '#')
        p = path(p + 1, 1);
    return *p == '>' ? p + 1 : NULL;
}

static const uint8_t *blank(const uint8_t *p)
{
    if (*p++ != '_' || *p++ != ':' || *p == '-' || !is(p, LABEL))
        return NULL;
    while (is(p, LABEL))
        p++;
    return p;
}

static const uint8_t *language(const uint8_t *p)
{
    const uint8_t *start = p;
    while (is(p, LOWER))
        p++;
    if (p - start < 2 || p - start > 3)
        return NULL;
    if (*p == '-') {
        if (!is(p + 1, LOWER) || !is(p + 2, LOWER))
            return NULL;
        p += 3;
    }
    return p;
}

static int same(const uint8_t *p, const uint8_t *end, const char *text)
{
    size_t length = strlen(text);
    return (size_t)(end - p) == length && !memcmp(p, text, length);
}

static const uint8_t *datatype(const uint8_t *p)
{
    const uint8_t *end = iri(p);
    if (end && (same(p, end, "<http://www.w3.org/2001/XMLSchema#string>") ||
                same(p, end, "<http://www.w3.org/1999/02/22-rdf-syntax-ns#langString>") ||
                same(p, end, "<http://www.w3.org/1999/02/22-rdf-syntax-ns#dirLangString>")))
        return NULL;
    return end;
}

static const uint8_t *literal(const uint8_t *p)
{
    if (*p++ != '"')
        return NULL;
    for (;;) {
        while (is(p, TEXT))
            p++;
        if (*p == '"')
            break;
        if (*p == '\\') {
            if (!p[1] || !strchr("tbnrf\"\\", p[1]))
                return NULL;
            p += 2;
        } else {
            int bytes = *p >= 0x80 ? wide(p, 0) : 0;
            if (!bytes)
                return NULL;
            p += bytes;
        }
    }
    p++;
    if (*p == '@')
        return language(p + 1);
    if (*p == '^')
        return p[1] == '^' ? datatype(p + 2) : NULL;
    return p;
}

static const uint8_t *node(const uint8_t *p) { return *p == '_' ? blank(p) : iri(p); }
static const uint8_t *object(const uint8_t *p) { return *p == '"' ? literal(p) : node(p); }

/* Distinct terms in order of first appearance, one after the other in `data`. */
typedef struct {
    uint64_t *slots, mask;
    Py_ssize_t count;
    uint8_t *data;
    int32_t *offsets;
} Table;

typedef struct {
    const uint8_t *bytes;
    Py_ssize_t length;
    uint64_t hash;
} Term;

static int begin_table(Table *table, Flags data, Ids offsets)
{
    table->mask = LEAST_SLOTS - 1;
    table->count = 0;
    table->data = data.data;
    table->offsets = offsets.data;
    table->offsets[0] = 0;
    table->slots = calloc(LEAST_SLOTS, sizeof *table->slots);
    return table->slots != NULL;
}

static int grow(Table *table)
{
    Py_ssize_t size = (Py_ssize_t)table->mask + 1;
    uint64_t *slots = calloc((size_t)size * 4, sizeof *slots), mask = (uint64_t)size * 4 - 1;
    if (!slots)
        return 0;
    move_slots(table->slots, size, slots, mask);
    free(table->slots);
    table->slots = slots;
    table->mask = mask;
    return 1;
}

static inline Term term(const Table *table, const uint8_t *bytes, const uint8_t *end, Seeds seeds)
{
    Term term = {bytes, end - bytes, hash_of(bytes, end - bytes, seeds)};
    __builtin_prefetch(&table->slots[home(term.hash, table->mask)]);
    return term;
}

/* The id of a term, which is added if it is new. There is room for it. */
static inline int32_t id_of(Table *table, Term term)
{
    for (uint64_t place = home(term.hash, table->mask);; place = (place + 1) & table->mask) {
        uint64_t slot = table->slots[place];
        if (!slot) {
            table->slots[place] = entry(term.hash, table->count);
            int32_t start = table->offsets[table->count];
            memcpy(table->data + start, term.bytes, (size_t)term.length);
            table->offsets[++table->count] = start + (int32_t)term.length;
            return (int32_t)table->count - 1;
        }
        if (slot >> 32 != term.hash >> 32)
            continue;
        int64_t id = id_in(slot);
        int32_t start = table->offsets[id];
        if (table->offsets[id + 1] - start == term.length &&
            !memcmp(table->data + start, term.bytes, (size_t)term.length))
            return (int32_t)id;
    }
}

/* As many as one line adds at most. */
static inline int has_room(Table *table)
{
    return 2 * (table->count + 3) <= (Py_ssize_t)table->mask || grow(table);
}

enum { READ, DOUBTFUL, NO_MEMORY };

typedef struct {
    Ids s, p, o, g;
    Table terms, graphs;
    Seeds seeds;
    int named; /* lines may name a graph */
} Reading;

/* The line at `p`, as row `row`; where it ends. */
static const uint8_t *line(Reading *reading, Py_ssize_t row, const uint8_t *p)
{
    Table *terms = &reading->terms, *graphs = &reading->graphs;
    Seeds seeds = reading->seeds;
    const uint8_t *end = node(p);
    if (!end || *end != ' ')
        return NULL;
    Term subject = term(terms, p, end, seeds);
    p = end + 1;
    end = iri(p);
    if (!end || *end != ' ')
        return NULL;
    Term predicate = term(terms, p, end, seeds);
    p = end + 1;
    end = object(p);
    if (!end || *end != ' ')
        return NULL;
    Term last = term(terms, p, end, seeds);
    p = end + 1;
    if (reading->named) {
        int32_t graph = -1;
        if (*p != '.') {
            end = node(p);
            if (!end || *end != ' ')
                return NULL;
            graph = id_of(graphs, term(graphs, p, end, seeds));
            p = end + 1;
        }
        reading->g.data[row] = graph;
    }
    if (p[0] != '.' || p[1] != '\n')
        return NULL;
    reading->s.data[row] = id_of(terms, subject);
    reading->p.data[row] = id_of(terms, predicate);
    reading->o.data[row] = id_of(terms, last);
    return p + 2;
}

static int read_lines(Reading *reading, Flags body, Py_ssize_t *rows)
{
    const uint8_t *p = body.data, *end = body.data + body.size;
    for (*rows = 0; p < end; ++*rows) {
        if (*rows == reading->s.size)
            return DOUBTFUL;
        if (!has_room(&reading->terms) || !has_room(&reading->graphs))
            return NO_MEMORY;
        const uint8_t *next = line(reading, *rows, p);
        if (!next || next - p > LONGEST_LINE)
            return DOUBTFUL;
        p = next;
    }
    return READ;
}

/* lines(body, named, seed, seed, out s, out p, out o, out g, out data, out offsets, out graph data, out graph offsets,
 * out counts) -> the number of lines; -1 where one is in doubt
 *
 * Ids in order of first appearance, and the terms that they stand for; g is -1 where a line names no graph, and not
 * looked at where none may. `counts`: how many terms there are, and how many graphs. */
PyObject *lines(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    Call call;
    begin(&call, arguments, count);
    Flags body = flags_in(&call);
    Reading reading;
    reading.named = number(&call) != 0;
    reading.seeds.one = (uint64_t)number(&call);
    reading.seeds.two = (uint64_t)number(&call);
    reading.s = ids_out(&call);
    reading.p = ids_out(&call);
    reading.o = ids_out(&call);
    reading.g = ids_out(&call);
    Flags data = flags_out(&call);
    Ids offsets = ids_out(&call);
    Flags graph_data = flags_out(&call);
    Ids graph_offsets = ids_out(&call);
    Column counts = column_out(&call);
    Py_ssize_t most = reading.s.size, rows = 0;
    if (!call.failed && (reading.p.size != most || reading.o.size != most || offsets.size < 3 * most + 1 ||
                         data.size < body.size || counts.size < 2 || most > MOST_LINES ||
                         graph_offsets.size < (reading.named ? most : 0) + 1 ||
                         (reading.named && (reading.g.size != most || graph_data.size < body.size))))
        wrong(&call, "columns of lengths that do not fit");
    if (!call.failed && (body.size > INT32_MAX || !body.size || body.data[body.size - 1] != '\n'))
        wrong(&call, "a body that does not end with a line feed, or a long one");
    if (call.failed)
        return end(&call, 0);
    learn_classes();
    reading.terms = reading.graphs = (Table){0};
    int outcome = NO_MEMORY;
    let_others_run(&call, most);
    if (begin_table(&reading.terms, data, offsets) && begin_table(&reading.graphs, graph_data, graph_offsets))
        outcome = read_lines(&reading, body, &rows);
    free(reading.terms.slots);
    free(reading.graphs.slots);
    counts.data[0] = reading.terms.count;
    counts.data[1] = reading.graphs.count;
    if (outcome == NO_MEMORY)
        no_memory(&call);
    return end(&call, outcome == READ ? rows : -1);
}
