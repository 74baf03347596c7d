{# Directional derivatives for a library that has none; declarations follow the standard, without its header files. #}
/* Functional Mock-up Interface {{ version }}: directional derivatives of {{ name }}; everything else is provided by {{ library }}.

   One call of its {{ getter }} carries a question, as value references, and the answer, as values:
   {{ mark }}, numbers of unknowns and of knowns, these, then the halves of each seed; a status, then the derivatives.
   With {{ mark }} for the number of knowns the answer is the values, so that what fails is an error and not the unit's end. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { OK = 0, ERROR = 3 };

{% if version == 2 %}
typedef int (*Getter)(void *unit, const unsigned *refs, size_t count, double *values);
#define ASK(refs, count, values) get(unit, refs, count, values)
{% else %}
typedef int (*Getter)(void *unit, const unsigned *refs, size_t count, double *values, size_t value_count);
#define ASK(refs, count, values) get(unit, refs, count, values, count)
{% endif %}

static Getter get;

/* only from that library: another FMU may have been loaded with global symbols */
__attribute__((constructor)) static void find(void)
{
    void *library = dlopen("{{ library }}", RTLD_LAZY | RTLD_NOLOAD);
    if (!library) return;
    *(void **)&get = dlsym(library, "{{ getter }}");
    dlclose(library);
}

static int ask(void *unit, const unsigned *unknown, size_t rows, const unsigned *known, size_t columns, const double *seed, double *out, unsigned kind)
{
    if (!unit || !get || rows > INT32_MAX / 8 || columns > INT32_MAX / 8) return ERROR;
    if ((rows && !(unknown && out)) || (columns && !(known && seed))) return ERROR;
    const size_t count = 3 + rows + 3 * columns;
    unsigned *question = malloc(count * sizeof(unsigned));
    double *answer = calloc(count, sizeof(double));
    int status = ERROR;
    if (question && answer) {
        const unsigned head[3] = { {{ mark }}u, (unsigned)rows, kind };
        memcpy(question, head, sizeof head);
        if (rows) memcpy(question + 3, unknown, rows * sizeof(unsigned));
        if (columns) memcpy(question + 3 + rows, known, columns * sizeof(unsigned));
        if (columns) memcpy(question + 3 + rows + columns, seed, columns * sizeof(double));
        status = ASK(question, count, answer);
        if (status == OK && answer[0] != 0.0) status = ERROR;
        if (status == OK && rows) memcpy(out, answer + 1, rows * sizeof(double));
    }
    free(question);
    free(answer);
    return status;
}

static int along(void *unit, const unsigned *unknown, size_t rows, const unsigned *known, size_t columns, const double *seed, double *out)
{
    return ask(unit, unknown, rows, known, columns, seed, out, (unsigned)columns);
}

static int values(void *unit, const unsigned *refs, size_t count, double *out)
{
    return ask(unit, refs, count, NULL, 0, NULL, out, {{ mark }}u);
}

#define EXPORT __attribute__((visibility("default")))

{% if version == 2 %}
EXPORT int fmi2GetReal(void *unit, const unsigned *refs, size_t count, double *out)
{
    return values(unit, refs, count, out);
}

EXPORT int fmi2GetDirectionalDerivative(void *unit, const unsigned *unknown, size_t rows, const unsigned *known, size_t columns, const double *seed, double *out)
{
    return along(unit, unknown, rows, known, columns, seed, out);
}
{% else %}
EXPORT int fmi3GetFloat64(void *unit, const unsigned *refs, size_t count, double *out, size_t outs)
{
    return outs == count ? values(unit, refs, count, out) : ERROR;
}

EXPORT int fmi3GetDirectionalDerivative(void *unit, const unsigned *unknown, size_t rows, const unsigned *known, size_t columns, const double *seed, size_t seeds, double *out, size_t outs)
{
    return seeds == columns && outs == rows ? along(unit, unknown, rows, known, columns, seed, out) : ERROR;
}
{% endif %}
