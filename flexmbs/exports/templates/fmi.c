{# The functions of FMI 2 and 3 for co-simulation; declarations follow the standard, without its header files. #}

/* Functional Mock-up Interface {{ version }} for co-simulation; value references: 0 time, then inputs, outputs, states */

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#ifdef _WIN32
#define EXPORT __declspec(dllexport)
#else
#define EXPORT __attribute__((visibility("default")))
#endif

enum { OK = 0, ERROR = 3 };

typedef struct {
    double x[N + 1], u[M + 1], t;
} State;

typedef struct {
    State now;
    double h, Phi[N * N + 1], Gamma[N * M + 1], work[WORK];
} Instance;

static int get(void *unit, const unsigned *refs, size_t count, double *values)
{
    const Instance *one = unit;
    double y[P + 1];
    {{ name }}_outputs(one->now.x, one->now.u, y);
    for (size_t i = 0; i < count; ++i) {
        const unsigned ref = refs[i];
        if (ref == 0) values[i] = one->now.t;
        else if (ref <= M) values[i] = one->now.u[ref - 1];
        else if (ref <= M + P) values[i] = y[ref - 1 - M];
        else if (ref <= M + P + N) values[i] = one->now.x[ref - 1 - M - P];
        else return ERROR;
    }
    return OK;
}

static int set(void *unit, const unsigned *refs, size_t count, const double *values)
{
    Instance *one = unit;
    for (size_t i = 0; i < count; ++i) {
        const unsigned ref = refs[i];
        if (ref >= 1 && ref <= M) one->now.u[ref - 1] = values[i];
        else if (ref > M + P && ref <= M + P + N) one->now.x[ref - 1 - M - P] = values[i];
        else return ERROR;
    }
    return OK;
}

static int step(void *unit, double t, double h)
{
    Instance *one = unit;
    if (!(h > 0.0 && isfinite(h))) return ERROR;
    if (h != one->h) {
        {{ name }}_discretize(h, one->Phi, one->Gamma, one->work);
        one->h = h;
    }
    {{ name }}_step(one->Phi, one->Gamma, one->now.u, one->now.x);
    one->now.t = t + h;
    return OK;
}

static int keep(void *unit, void **state)
{
    if (!*state) *state = malloc(sizeof(State));
    if (!*state) return ERROR;
    memcpy(*state, &((Instance *)unit)->now, sizeof(State));
    return OK;
}

static int put_back(void *unit, const void *state)
{
    memcpy(&((Instance *)unit)->now, state, sizeof(State));
    return OK;
}

/* of outputs with respect to inputs: D */
static int along(const unsigned *unknown, size_t rows, const unsigned *known, size_t columns, const double *seed, double *out)
{
    for (size_t i = 0; i < rows; ++i) {
        if (unknown[i] <= M || unknown[i] > M + P) return ERROR;
        out[i] = 0.0;
        for (size_t k = 0; k < columns; ++k) {
            if (known[k] < 1 || known[k] > M) return ERROR;
            out[i] += D[M * (unknown[i] - 1 - M) + known[k] - 1] * seed[k];
        }
    }
    return OK;
}

static void clear(void *unit) { memset(unit, 0, sizeof(Instance)); }
{% if version == 2 %}

EXPORT const char *fmi2GetTypesPlatform(void) { return "default"; }
EXPORT const char *fmi2GetVersion(void) { return "2.0"; }
EXPORT int fmi2SetDebugLogging(void *c, int on, size_t n, const char *const *categories) { (void)c; (void)on; (void)n; (void)categories; return OK; }
EXPORT void *fmi2Instantiate(const char *name, int type, const char *guid, const char *place, const void *calls, int visible, int log)
{
    (void)name; (void)place; (void)calls; (void)visible; (void)log;
    return type == 1 && guid && !strcmp(guid, "{{ guid }}") ? calloc(1, sizeof(Instance)) : NULL;
}
EXPORT void fmi2FreeInstance(void *c) { free(c); }
EXPORT int fmi2SetupExperiment(void *c, int defined, double tolerance, double start, int stops, double stop)
{
    (void)defined; (void)tolerance; (void)stops; (void)stop;
    ((Instance *)c)->now.t = start;
    return OK;
}
EXPORT int fmi2EnterInitializationMode(void *c) { (void)c; return OK; }
EXPORT int fmi2ExitInitializationMode(void *c) { (void)c; return OK; }
EXPORT int fmi2Terminate(void *c) { (void)c; return OK; }
EXPORT int fmi2Reset(void *c) { clear(c); return OK; }
EXPORT int fmi2GetReal(void *c, const unsigned *refs, size_t n, double *values) { return get(c, refs, n, values); }
EXPORT int fmi2SetReal(void *c, const unsigned *refs, size_t n, const double *values) { return set(c, refs, n, values); }
EXPORT int fmi2DoStep(void *c, double t, double h, int forward) { (void)forward; return step(c, t, h); }
EXPORT int fmi2GetFMUstate(void *c, void **state) { return keep(c, state); }
EXPORT int fmi2SetFMUstate(void *c, void *state) { return put_back(c, state); }
EXPORT int fmi2FreeFMUstate(void *c, void **state) { (void)c; free(*state); *state = NULL; return OK; }
EXPORT int fmi2SerializedFMUstateSize(void *c, void *state, size_t *size) { (void)c; (void)state; *size = sizeof(State); return OK; }
EXPORT int fmi2SerializeFMUstate(void *c, void *state, char *bytes, size_t size)
{
    (void)c;
    if (size < sizeof(State)) return ERROR;
    memcpy(bytes, state, sizeof(State));
    return OK;
}
EXPORT int fmi2DeSerializeFMUstate(void *c, const char *bytes, size_t size, void **state)
{
    if (size < sizeof(State) || keep(c, state) != OK) return ERROR;
    memcpy(*state, bytes, sizeof(State));
    return OK;
}
EXPORT int fmi2GetDirectionalDerivative(void *c, const unsigned *unknown, size_t rows, const unsigned *known, size_t columns, const double *seed, double *out)
{
    (void)c;
    return along(unknown, rows, known, columns, seed, out);
}
{% else %}

EXPORT const char *fmi3GetVersion(void) { return "3.0"; }
EXPORT int fmi3SetDebugLogging(void *c, _Bool on, size_t n, const char *const *categories) { (void)c; (void)on; (void)n; (void)categories; return OK; }
EXPORT void *fmi3InstantiateCoSimulation(const char *name, const char *token, const char *place, _Bool visible, _Bool log, _Bool events, _Bool early, const unsigned *refs, size_t n, void *environment, void *message, void *update)
{
    (void)name; (void)place; (void)visible; (void)log; (void)events; (void)early; (void)refs; (void)n; (void)environment; (void)message; (void)update;
    return token && !strcmp(token, "{{ guid }}") ? calloc(1, sizeof(Instance)) : NULL;
}
EXPORT void *fmi3InstantiateModelExchange(void) { return NULL; }
EXPORT void *fmi3InstantiateScheduledExecution(void) { return NULL; }
EXPORT void fmi3FreeInstance(void *c) { free(c); }
EXPORT int fmi3EnterInitializationMode(void *c, _Bool defined, double tolerance, double start, _Bool stops, double stop)
{
    (void)defined; (void)tolerance; (void)stops; (void)stop;
    ((Instance *)c)->now.t = start;
    return OK;
}
EXPORT int fmi3ExitInitializationMode(void *c) { (void)c; return OK; }
EXPORT int fmi3Terminate(void *c) { (void)c; return OK; }
EXPORT int fmi3Reset(void *c) { clear(c); return OK; }
EXPORT int fmi3GetFloat64(void *c, const unsigned *refs, size_t n, double *values, size_t nv) { return nv == n ? get(c, refs, n, values) : ERROR; }
EXPORT int fmi3SetFloat64(void *c, const unsigned *refs, size_t n, const double *values, size_t nv) { return nv == n ? set(c, refs, n, values) : ERROR; }
EXPORT int fmi3DoStep(void *c, double t, double h, _Bool forward, _Bool *event, _Bool *terminate, _Bool *early, double *last)
{
    const int status = step(c, t, h);
    (void)forward;
    *event = *terminate = *early = 0;
    *last = ((Instance *)c)->now.t;
    return status;
}
EXPORT int fmi3GetFMUState(void *c, void **state) { return keep(c, state); }
EXPORT int fmi3SetFMUState(void *c, void *state) { return put_back(c, state); }
EXPORT int fmi3FreeFMUState(void *c, void **state) { (void)c; free(*state); *state = NULL; return OK; }
EXPORT int fmi3SerializedFMUStateSize(void *c, void *state, size_t *size) { (void)c; (void)state; *size = sizeof(State); return OK; }
EXPORT int fmi3SerializeFMUState(void *c, void *state, uint8_t *bytes, size_t size)
{
    (void)c;
    if (size < sizeof(State)) return ERROR;
    memcpy(bytes, state, sizeof(State));
    return OK;
}
EXPORT int fmi3DeserializeFMUState(void *c, const uint8_t *bytes, size_t size, void **state)
{
    if (size < sizeof(State) || keep(c, state) != OK) return ERROR;
    memcpy(*state, bytes, sizeof(State));
    return OK;
}
EXPORT int fmi3GetDirectionalDerivative(void *c, const unsigned *unknown, size_t rows, const unsigned *known, size_t columns, const double *seed, size_t ns, double *out, size_t no)
{
    (void)c;
    return ns == columns && no == rows ? along(unknown, rows, known, columns, seed, out) : ERROR;
}
{% endif %}

/* functions required by the standard, for types and modes that this FMU does not have */
{% for function in absent %}
EXPORT int fmi{{ version }}{{ function }}(void) { return ERROR; }
{% endfor %}
