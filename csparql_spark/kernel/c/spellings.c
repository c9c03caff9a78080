/* Terms in N-Triples syntax, as SPARQL's results spell them in JSON and in CSV.
 *
 * Spelled is what is plain beyond doubt: no escapes but the short ones of literals, no control characters that are not
 * escaped, no base direction, labels in ASCII. Whoever asks spells the others, and says what is wrong with them, if
 * anything is. Bytes beyond ASCII are handed on as they are: what terms are made of is valid UTF-8. */
#include <string.h>

#include "kernel.h"

enum {
    NAME = 1,   /* what an IRI may be made of, but for escapes */
    LABEL = 2,  /* what the label of a blank node may be made of, in ASCII */
    TEXT = 4,   /* what stands for itself in a literal, in JSON, too */
    LETTER = 8, /* A-Z a-z */
    DIGIT = 16,
};
enum { JSON, CSV };
enum { MOST_MORE = 40 }; /* bytes by which a spelling is longer than its term at most: those of a language in JSON */

#define STRING "http://www.w3.org/2001/XMLSchema#string"

static uint8_t classes[256];

static void learn_classes(void)
{
    if (classes['a'])
        return;
    uint8_t learnt[256] = {0};
    for (int c = ' '; c < 256; c++)
        if (c != '"' && c != '\\')
            learnt[c] = c > ' ' && !strchr("<>{}|^`", c) ? NAME | TEXT : TEXT;
    for (int c = '!'; c < 127; c++)
        if (!strchr("<>\"\\", c))
            learnt[c] |= LABEL;
    for (int c = 'A'; c <= 'Z'; c++) {
        learnt[c] |= LETTER;
        learnt[c - 'A' + 'a'] |= LETTER;
    }
    for (int c = '0'; c <= '9'; c++)
        learnt[c] |= DIGIT;
    memcpy(classes, learnt, sizeof classes);
}

static inline int is(const uint8_t *p, int of) { return classes[*p] & of; }

static inline int all(const uint8_t *p, const uint8_t *end, int of)
{
    int every = of;
    for (; p < end; p++)
        every &= classes[*p];
    return every;
}

static inline uint8_t *put(uint8_t *out, const void *bytes, Py_ssize_t size)
{
    memcpy(out, bytes, (size_t)size);
    return out + size;
}
#define PUT(out, text) put(out, text, sizeof text - 1)

/* What follows the text of a literal: nothing, a language, or a datatype. */
typedef struct {
    const uint8_t *language, *datatype; /* NULL: there is none, or it is xsd:string */
    Py_ssize_t length;
} Kind;

static int is_language(const uint8_t *p, const uint8_t *end)
{
    const uint8_t *part = p;
    while (p < end && is(p, LETTER))
        p++;
    while (p > part && p < end && *p == '-') {
        part = ++p;
        while (p < end && is(p, LETTER | DIGIT))
            p++;
    }
    return p > part && p == end;
}

static int kind_of(const uint8_t *p, const uint8_t *end, Kind *kind)
{
    *kind = (Kind){NULL, NULL, 0};
    if (p == end)
        return 1;
    if (*p == '@') {
        kind->language = p + 1;
        kind->length = end - kind->language;
        return is_language(p + 1, end);
    }
    if (end - p < 4 || memcmp(p, "^^<", 3) || end[-1] != '>' || !all(p + 3, end - 1, NAME))
        return 0;
    kind->length = end - 1 - (p + 3);
    if (kind->length != sizeof STRING - 1 || memcmp(p + 3, STRING, sizeof STRING - 1))
        kind->datatype = p + 3;
    return 1;
}

/* These spell the term up to `end`, and return where the spelling ends; NULL where there is a doubt. */
static uint8_t *literal_in_json(const uint8_t *p, const uint8_t *end, uint8_t *out)
{
    out = PUT(out, "{\"type\":\"literal\",\"value\":\"");
    for (p++;;) {
        while (p < end && is(p, TEXT))
            *out++ = *p++;
        if (p == end)
            return NULL;
        if (*p == '"')
            break;
        if (*p != '\\' || end - p < 2 || !p[1] || !strchr("tbnrf\"\\", p[1]))
            return NULL;
        out = put(out, p, 2); /* JSON writes these as N-Triples does */
        p += 2;
    }
    Kind kind;
    if (!kind_of(p + 1, end, &kind))
        return NULL;
    if (kind.language) {
        out = PUT(out, "\",\"xml:lang\":\"");
        out = put(out, kind.language, kind.length);
    } else if (kind.datatype) {
        out = PUT(out, "\",\"datatype\":\"");
        out = put(out, kind.datatype, kind.length);
    }
    return PUT(out, "\"}");
}

static uint8_t *in_json(const uint8_t *p, const uint8_t *end, uint8_t *out)
{
    if (end - p < 2)
        return NULL;
    if (*p == '"')
        return literal_in_json(p, end, out);
    if (*p == '<') {
        if (end[-1] != '>' || !all(p + 1, end - 1, NAME))
            return NULL;
        out = PUT(out, "{\"type\":\"uri\",\"value\":\"");
        out = put(out, p + 1, end - p - 2);
    } else {
        if (*p != '_' || p[1] != ':' || end - p == 2 || !all(p + 2, end, LABEL))
            return NULL;
        out = PUT(out, "{\"type\":\"bnode\",\"value\":\"");
        out = put(out, p + 2, end - p - 2);
    }
    return PUT(out, "\"}");
}

static uint8_t *literal_in_csv(const uint8_t *p, const uint8_t *end, uint8_t *out, int *quoted)
{
    for (p++;;) {
        for (; p < end && is(p, TEXT); p++) {
            *quoted |= *p == ',';
            *out++ = *p;
        }
        if (p == end)
            return NULL;
        if (*p == '"')
            break;
        if (*p != '\\' || end - p < 2)
            return NULL;
        switch (p[1]) {
        case 't': *out++ = '\t'; break;
        case 'b': *out++ = '\b'; break;
        case 'f': *out++ = '\f'; break;
        case '\\': *out++ = '\\'; break;
        case 'n': *out++ = '\n'; *quoted = 1; break;
        case 'r': *out++ = '\r'; *quoted = 1; break;
        case '"': out = PUT(out, "\"\""); *quoted = 1; break;
        default: return NULL;
        }
        p += 2;
    }
    Kind kind;
    return kind_of(p + 1, end, &kind) ? out : NULL;
}

static uint8_t *in_csv(const uint8_t *p, const uint8_t *end, uint8_t *out)
{
    if (end - p < 2)
        return NULL;
    uint8_t *start = out++; /* of a quote, if there is one */
    int quoted = 0;
    if (*p == '"') {
        out = literal_in_csv(p, end, out, &quoted);
        if (!out)
            return NULL;
    } else {
        int iri = *p == '<';
        if (iri ? end[-1] != '>' || !all(p + 1, end - 1, NAME)
                : *p != '_' || p[1] != ':' || end - p == 2 || !all(p + 2, end, LABEL))
            return NULL;
        out = put(out, p + iri, end - p - 2 * iri);
        quoted = memchr(p, ',', (size_t)(end - p)) != NULL;
    }
    if (!quoted) {
        memmove(start, start + 1, (size_t)(out - start - 1));
        return out - 1;
    }
    *start = '"';
    return PUT(out, "\"");
}

/* spell(offsets, data, format, out data, out offsets, out doubtful) -> how many terms are in doubt
 *
 * The spellings of terms, and where each ends; those of terms that are in doubt are empty, and their places are told.
 * There is room for all: `MOST_MORE` bytes for each term besides its own. */
PyObject *spell(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    Call call;
    begin(&call, arguments, count);
    Ids offsets = ids_in(&call);
    Flags data = flags_in(&call);
    int64_t format = number(&call);
    Flags out = flags_out(&call);
    Column ends = column_out(&call), doubtful = column_out(&call);
    Py_ssize_t size = doubtful.size;
    if (!call.failed && (offsets.size != size + 1 || ends.size != size + 1 || offsets.data[0] < 0))
        wrong(&call, "columns of lengths that do not fit");
    for (Py_ssize_t i = 0; i < size && !call.failed; i++)
        if (offsets.data[i] > offsets.data[i + 1])
            wrong(&call, "terms that are not where they are said to be");
    if (!call.failed && offsets.data[size] > data.size)
        wrong(&call, "terms that are not where they are said to be");
    if (!call.failed && out.size < offsets.data[size] - offsets.data[0] + MOST_MORE * size)
        wrong(&call, "no room for so many spellings");
    if (!call.failed && format != JSON && format != CSV)
        wrong(&call, "a format that nothing is spelled for");
    if (call.failed)
        return end(&call, 0);
    learn_classes();
    let_others_run(&call, size);
    uint8_t *next = out.data;
    Py_ssize_t doubts = 0;
    ends.data[0] = 0;
    for (Py_ssize_t i = 0; i < size; i++) {
        const uint8_t *term = data.data + offsets.data[i], *last = data.data + offsets.data[i + 1];
        uint8_t *spelled = format == JSON ? in_json(term, last, next) : in_csv(term, last, next);
        if (spelled)
            next = spelled;
        else
            doubtful.data[doubts++] = i;
        ends.data[i + 1] = next - out.data;
    }
    return end(&call, doubts);
}
