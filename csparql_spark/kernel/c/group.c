/* Rows of a group and a value, reduced group by group; and sums that are exact, so that what was added can be taken
 * back.
 *
 * A sum is one number in two's complement, as wide as it has to be: limbs of 64 bits, the lowest first. Of int64 there
 * are two limbs. Of doubles the lowest bit that there is stands for 2^-1074, and limbs are numbered from there; a table
 * has those from `low` on that its values have bits in, and one more above them: 2^63 values of the greatest size fit.
 * Numbers in two's complement are one for each value: what was added and taken back leaves no trace. */
#include <stdlib.h>
#include <string.h>

#include "kernel.h"

enum { LIMB = 64, MANTISSA = 52, EXPONENTS = 2047, MOST_LIMBS = 36, REACH = 8 };

__extension__ typedef unsigned __int128 Wide;

typedef struct {
    uint64_t *limbs;
    Py_ssize_t groups;
    int64_t low, width;
} Table;

static int are_groups(Call *call, Column groups, Py_ssize_t size)
{
    int beyond = 0;
    for (Py_ssize_t i = 0; i < groups.size; i++)
        beyond |= (uint64_t)groups.data[i] >= (uint64_t)size;
    if (beyond)
        wrong(call, "a group that there is not");
    return !beyond;
}

static void table(Call *call, Table *sums, int written)
{
    Column limbs = written ? column_out(call) : column(call);
    sums->limbs = (uint64_t *)limbs.data;
    sums->low = number(call), sums->width = number(call);
    if (call->failed)
        return;
    if (sums->low < 0 || sums->width < 0 || sums->low > MOST_LIMBS || sums->width > MOST_LIMBS ||
        sums->low + sums->width > MOST_LIMBS || (sums->width ? limbs.size % sums->width : limbs.size))
        wrong(call, "columns of lengths that do not fit");
    else
        sums->groups = sums->width ? limbs.size / sums->width : 0;
}

/* reduce(groups, values, out counts, out least, out most) -> 0: of each group how many values it has, the least and the
 * greatest of them; the greatest and the least int64 where it has none. */
PyObject *reduce(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    Call call;
    begin(&call, arguments, count);
    Column groups = column(&call), values = column(&call);
    Column counts = column_out(&call), least = column_out(&call), most = column_out(&call);
    if (!call.failed && (values.size != groups.size || least.size != counts.size || most.size != counts.size))
        wrong(&call, "columns of lengths that do not fit");
    if (call.failed || !are_groups(&call, groups, counts.size))
        return end(&call, 0);
    let_others_run(&call, groups.size);
    for (Py_ssize_t group = 0; group < counts.size; group++) {
        counts.data[group] = 0;
        least.data[group] = INT64_MAX;
        most.data[group] = INT64_MIN;
    }
    for (Py_ssize_t i = 0; i < groups.size; i++) {
        int64_t group = groups.data[i], value = values.data[i];
        counts.data[group]++;
        least.data[group] = value < least.data[group] ? value : least.data[group];
        most.data[group] = value > most.data[group] ? value : most.data[group];
    }
    return end(&call, 0);
}

/* reduce_doubles(groups, values, out counts, out least, out most) -> 0: the same of doubles: infinite where there is
 * none, not a number where one of them is none, and a zero is +0. */
PyObject *reduce_doubles(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    Call call;
    begin(&call, arguments, count);
    Column groups = column(&call);
    Doubles values = doubles(&call);
    Column counts = column_out(&call);
    Doubles least = doubles_out(&call), most = doubles_out(&call);
    if (!call.failed && (values.size != groups.size || least.size != counts.size || most.size != counts.size))
        wrong(&call, "columns of lengths that do not fit");
    if (call.failed || !are_groups(&call, groups, counts.size))
        return end(&call, 0);
    let_others_run(&call, groups.size);
    for (Py_ssize_t group = 0; group < counts.size; group++) {
        counts.data[group] = 0;
        least.data[group] = __builtin_inf();
        most.data[group] = -__builtin_inf();
    }
    for (Py_ssize_t i = 0; i < groups.size; i++) {
        int64_t group = groups.data[i];
        double value = values.data[i] + 0.0;
        int none = value != value;
        counts.data[group]++;
        least.data[group] = value < least.data[group] || none ? value : least.data[group];
        most.data[group] = value > most.data[group] || none ? value : most.data[group];
    }
    return end(&call, 0);
}

static inline uint64_t size_of(int64_t times) { return times < 0 ? 0 - (uint64_t)times : (uint64_t)times; }

/* Adds to a limb, or takes from it (`turned` is all ones): what is carried. */
static inline uint64_t add(uint64_t *limb, uint64_t value, uint64_t carried, uint64_t turned)
{
    Wide sum = (Wide)(*limb ^ turned) + value + carried;
    *limb = (uint64_t)sum ^ turned;
    return (uint64_t)(sum >> LIMB);
}

/* total(out sums, out counts, groups, values, times) -> 0
 *
 * Adds values to sums of two limbs, each so many times, or once where `times` is empty; less than 0 times takes them
 * back. */
PyObject *total(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    Call call;
    begin(&call, arguments, count);
    Column sums = column_out(&call), counts = column_out(&call);
    Column groups = column(&call), values = column(&call), times = column(&call);
    if (!call.failed && (sums.size != 2 * counts.size || values.size != groups.size ||
                         (times.size && times.size != groups.size)))
        wrong(&call, "columns of lengths that do not fit");
    if (call.failed || !are_groups(&call, groups, counts.size))
        return end(&call, 0);
    let_others_run(&call, groups.size);
    for (Py_ssize_t i = 0; i < groups.size && !times.size; i++) {
        uint64_t *sum = (uint64_t *)sums.data + 2 * groups.data[i], value = (uint64_t)values.data[i];
        sum[0] += value;
        sum[1] += (uint64_t)(values.data[i] >> 63) + (sum[0] < value);
        counts.data[groups.data[i]]++;
    }
    for (Py_ssize_t i = 0; i < times.size; i++) {
        int64_t value = values.data[i], often = times.data[i];
        uint64_t *sum = (uint64_t *)sums.data + 2 * groups.data[i];
        uint64_t turned = 0 - (uint64_t)((value < 0) ^ (often < 0));
        Wide product = (Wide)size_of(value) * size_of(often);
        uint64_t carried = add(sum, (uint64_t)product, 0, turned);
        add(sum + 1, (uint64_t)(product >> LIMB), carried, turned);
        counts.data[groups.data[i]] = (int64_t)((uint64_t)counts.data[groups.data[i]] + (uint64_t)often);
    }
    return end(&call, 0);
}

/* The bits of a finite double: which of them is the lowest, and how many of it there are. */
static inline int lowest_bit(uint64_t bits)
{
    int exponent = (int)(bits >> MANTISSA) & EXPONENTS;
    return exponent ? exponent - 1 : 0;
}

static inline uint64_t units(uint64_t bits)
{
    uint64_t below = bits & (((uint64_t)1 << MANTISSA) - 1);
    return (bits >> MANTISSA) & EXPONENTS ? below | (uint64_t)1 << MANTISSA : below;
}

/* The limbs that doubles have bits in, as one number: the first, and the one behind the room above them. -1 if one of
 * them is no finite number, 0 if all are nothing. */
static int64_t reach(const uint64_t *bits, Py_ssize_t size)
{
    uint64_t least = UINT64_MAX, most = 0;
    for (Py_ssize_t i = 0; i < size; i++) {
        uint64_t value = bits[i] & (UINT64_MAX >> 1);
        most = value > most ? value : most;
        value = value ? value : UINT64_MAX;
        least = value < least ? value : least;
    }
    if (most >> MANTISSA == EXPONENTS)
        return -1;
    if (!most)
        return 0;
    int64_t low = lowest_bit(least) / LIMB, top = (lowest_bit(most) + MANTISSA) / LIMB;
    return low << REACH | (top + 2);
}

/* Adds a double to the sum of a group, so many times. */
INLINE void add_double(const Table *sums, int64_t group, uint64_t bits, int64_t often)
{
    uint64_t value = units(bits);
    if (!value)
        return;
    int lowest = lowest_bit(bits), shift = lowest % LIMB;
    int64_t place = lowest / LIMB - sums->low;
    uint64_t *limbs = sums->limbs + group * sums->width;
    uint64_t turned = 0 - (bits >> 63 ^ (uint64_t)(often < 0));
    Wide product = (Wide)value * size_of(often);
    Wide lower = (Wide)(uint64_t)product << shift, upper = (Wide)(uint64_t)(product >> LIMB) << shift;
    upper += lower >> LIMB;
    uint64_t carried = add(&limbs[place], (uint64_t)lower, 0, turned);
    carried = add(&limbs[place + 1], (uint64_t)upper, carried, turned);
    uint64_t rest = (uint64_t)(upper >> LIMB);
    for (place += 2; place < sums->width && (rest | carried); place++, rest = 0)
        carried = add(&limbs[place], rest, carried, turned);
}

/* accumulate(out limbs, low, width, out counts, groups, values, times) -> 0
 *
 * Adds doubles as `total` adds integers. Nothing is added where they have bits in other limbs: then it says which there
 * must be, as -1 - (first << 8 | the one behind the last); nor where one of them is no finite number: the least
 * int64. */
PyObject *accumulate(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    Call call;
    begin(&call, arguments, count);
    Table sums;
    table(&call, &sums, 1);
    Column counts = column_out(&call), groups = column(&call);
    Doubles values = doubles(&call);
    Column times = column(&call);
    if (!call.failed && ((sums.width && sums.groups != counts.size) || values.size != groups.size ||
                         (times.size && times.size != groups.size)))
        wrong(&call, "columns of lengths that do not fit");
    if (call.failed || !are_groups(&call, groups, counts.size))
        return end(&call, 0);
    let_others_run(&call, groups.size);
    const uint64_t *bits = (const uint64_t *)(const void *)values.data;
    const int64_t needed = reach(bits, values.size);
    if (needed < 0)
        return end(&call, INT64_MIN);
    if (needed && (needed >> REACH < sums.low || (needed & ((1 << REACH) - 1)) > sums.low + sums.width))
        return end(&call, -1 - needed);
    for (Py_ssize_t i = 0; i < groups.size && !times.size; i++) {
        counts.data[groups.data[i]]++;
        add_double(&sums, groups.data[i], bits[i], 1);
    }
    for (Py_ssize_t i = 0; i < times.size; i++) {
        int64_t group = groups.data[i], often = times.data[i];
        counts.data[group] = (int64_t)((uint64_t)counts.data[group] + (uint64_t)often);
        add_double(&sums, group, bits[i], often);
    }
    return end(&call, 0);
}

/* combine(out limbs, low, width, limbs, low, width, groups, taken) -> 0
 *
 * Adds sums to others, or takes them from those (`taken`): the sum at a place to that of the group named there. All of
 * their limbs are among those that are added to. */
PyObject *combine(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    Call call;
    begin(&call, arguments, count);
    Table sums, more;
    table(&call, &sums, 1);
    table(&call, &more, 0);
    Column groups = column(&call);
    uint64_t turned = number(&call) ? UINT64_MAX : 0;
    if (!call.failed && (more.groups != groups.size || more.low < sums.low ||
                         more.low + more.width > sums.low + sums.width))
        wrong(&call, "columns of lengths that do not fit");
    if (call.failed || !are_groups(&call, groups, sums.groups))
        return end(&call, 0);
    let_others_run(&call, groups.size);
    for (Py_ssize_t i = 0; i < groups.size; i++) {
        const uint64_t *from = more.limbs + i * more.width;
        uint64_t *limbs = sums.limbs + groups.data[i] * sums.width + (more.low - sums.low), carried = 0;
        const uint64_t sign = more.width && from[more.width - 1] >> 63 ? UINT64_MAX : 0;
        for (Py_ssize_t place = 0; place < sums.low + sums.width - more.low; place++)
            carried = add(&limbs[place], place < more.width ? from[place] : sign, carried, turned);
    }
    return end(&call, 0);
}

/* The double that is nearest to a sum, of two that are as near the even one. */
static double nearest(const uint64_t *limbs, int64_t low, int64_t width)
{
    uint64_t size[MOST_LIMBS + 1] = {0};
    const uint64_t turned = width && limbs[width - 1] >> 63 ? UINT64_MAX : 0;
    uint64_t carried = turned & 1;
    for (int64_t k = 0; k < width; k++) {
        size[k] = (limbs[k] ^ turned) + carried;
        carried &= !size[k];
    }
    int64_t top = width - 1;
    while (top >= 0 && !size[top])
        top--;
    if (top < 0)
        return 0.0;
    int64_t lowest = top * LIMB + 63 - __builtin_clzll(size[top]) - MANTISSA; /* of those bits that a double has */
    if (lowest < -low * LIMB)
        lowest = -low * LIMB;
    uint64_t found;
    int up = 0;
    if (lowest < 0) {
        found = size[0] << -lowest;
    } else {
        int64_t limb = lowest / LIMB;
        int shift = (int)(lowest % LIMB);
        found = size[limb] >> shift;
        if (shift)
            found |= size[limb + 1] << (LIMB - shift);
    }
    if (lowest > 0) {
        int64_t half = lowest - 1, limb = half / LIMB;
        uint64_t below = size[limb] & (((uint64_t)1 << half % LIMB) - 1);
        for (int64_t k = 0; k < limb; k++)
            below |= size[k];
        up = (size[limb] >> half % LIMB & 1) && (below || (found & 1));
    }
    /* What is counted up over all bits of a mantissa goes into the exponent by itself. */
    uint64_t bits = found + (uint64_t)(lowest + low * LIMB) * ((uint64_t)1 << MANTISSA) + (uint64_t)up;
    if (bits >> MANTISSA >= EXPONENTS)
        bits = (uint64_t)EXPONENTS << MANTISSA;
    bits |= turned << 63;
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* rounded(limbs, low, width, groups, out values) -> 0: the sums of these groups, each rounded once. */
PyObject *rounded(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    Call call;
    begin(&call, arguments, count);
    Table sums;
    table(&call, &sums, 0);
    Column groups = column(&call);
    Doubles values = doubles_out(&call);
    if (!call.failed && values.size != groups.size)
        wrong(&call, "columns of lengths that do not fit");
    if (call.failed || !are_groups(&call, groups, sums.groups))
        return end(&call, 0);
    let_others_run(&call, groups.size);
    for (Py_ssize_t i = 0; i < groups.size; i++)
        values.data[i] = nearest(sums.limbs + groups.data[i] * sums.width, sums.low, sums.width);
    return end(&call, 0);
}
