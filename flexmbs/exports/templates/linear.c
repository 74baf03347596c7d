/* {{ title }}

   x' = A x + B u,  y = C x + D u;  n = {{ n }} states, m = {{ m }} inputs, p = {{ p }} outputs, all differences from the state of
   linearization. Plain C99 without further files; compile with -DMAIN for a step response on the screen. */

#include <math.h>
#include <string.h>

enum { N = {{ n }}, M = {{ m }}, P = {{ p }}, BORDERED = N + M,
       SQUARE = BORDERED * BORDERED + 1, WORK = 4 * SQUARE };

{% for name, rows in matrices %}
static const double {{ name }}[] = { {{ c_numbers(rows) }} };
{% endfor %}

/* powers of two that make rows and columns of (A B; 0 0) of similar size, states before inputs */
static const double SCALE[] = { {{ c_numbers([scale]) }} };

/* x: {{ states | join(", ") }}
   u: {{ inputs | join(", ") }}
   y: {{ outputs | join(", ") }} */

void {{ name }}_derivatives(const double *x, const double *u, double *dx)
{
    for (int i = 0; i < N; ++i) {
        dx[i] = 0.0;
        for (int k = 0; k < N; ++k) dx[i] += A[N * i + k] * x[k];
        for (int k = 0; k < M; ++k) dx[i] += B[M * i + k] * u[k];
    }
}

void {{ name }}_outputs(const double *x, const double *u, double *y)
{
    for (int i = 0; i < P; ++i) {
        y[i] = 0.0;
        for (int k = 0; k < N; ++k) y[i] += C[N * i + k] * x[k];
        for (int k = 0; k < M; ++k) y[i] += D[M * i + k] * u[k];
    }
}

static void multiply(const double *a, const double *b, double *out)
{
    for (int i = 0; i < BORDERED; ++i)
        for (int j = 0; j < BORDERED; ++j) {
            double sum = 0.0;
            for (int k = 0; k < BORDERED; ++k) sum += a[BORDERED * i + k] * b[BORDERED * k + j];
            out[BORDERED * i + j] = sum;
        }
}

/* x(t + h) = Phi x(t) + Gamma u for a held input: (Phi Gamma; 0 1) = exp(h (A B; 0 0)), balanced, by the series at h / 2^k,
   squared k times; work: WORK numbers, of this thread alone */
void {{ name }}_discretize(double h, double *Phi, double *Gamma, double *work)
{
    double *scaled = work, *term = work + SQUARE, *sum = work + 2 * SQUARE, *product = work + 3 * SQUARE;
    double norm = 0.0;
    int halvings = 0;
    for (int i = 0; i < BORDERED; ++i) {
        double row = 0.0;
        for (int k = 0; k < BORDERED; ++k) {
            double entry = i >= N ? 0.0 : h * SCALE[k] / SCALE[i] * (k < N ? A[N * i + k] : B[M * i + k - N]);
            scaled[BORDERED * i + k] = entry;
            term[BORDERED * i + k] = sum[BORDERED * i + k] = i == k ? 1.0 : 0.0;
            row += fabs(entry);
        }
        norm = fmax(norm, row);
    }
    while (norm > 0.5 && halvings < 200) { norm *= 0.5; ++halvings; }
    for (int i = 0; i < BORDERED * BORDERED; ++i) scaled[i] = ldexp(scaled[i], -halvings);
    for (int order = 1; order <= 16; ++order) {
        multiply(term, scaled, product);
        for (int i = 0; i < BORDERED * BORDERED; ++i) sum[i] += term[i] = product[i] / order;
    }
    for (; halvings > 0; --halvings) {
        multiply(sum, sum, product);
        memcpy(sum, product, BORDERED * BORDERED * sizeof(double));
    }
    for (int i = 0; i < N; ++i) {
        for (int k = 0; k < N; ++k) Phi[N * i + k] = sum[BORDERED * i + k] * SCALE[i] / SCALE[k];
        for (int k = 0; k < M; ++k) Gamma[M * i + k] = sum[BORDERED * i + N + k] * SCALE[i] / SCALE[N + k];
    }
}

void {{ name }}_step(const double *Phi, const double *Gamma, const double *u, double *x)
{
    double next[N + 1];
    for (int i = 0; i < N; ++i) {
        next[i] = 0.0;
        for (int k = 0; k < N; ++k) next[i] += Phi[N * i + k] * x[k];
        for (int k = 0; k < M; ++k) next[i] += Gamma[M * i + k] * u[k];
    }
    memcpy(x, next, N * sizeof(double));
}
{% if not unit %}

#ifdef MAIN
#include <stdio.h>
#include <stdlib.h>

int main(int count, char **given)
{
    static double x[N + 1], u[M + 1], y[P + 1], Phi[N * N + 1], Gamma[N * M + 1], work[WORK];
    double h = count > 1 ? atof(given[1]) : 1e-3;
    int steps = count > 2 ? atoi(given[2]) : 1000;
    for (int k = 0; k < M; ++k) u[k] = 1.0;
    {{ name }}_discretize(h, Phi, Gamma, work);
    for (int i = 0; i <= steps; ++i) {
        {{ name }}_outputs(x, u, y);
        printf("%.17g", i * h);
        for (int k = 0; k < P; ++k) printf(" %.17g", y[k]);
        printf("\n");
        {{ name }}_step(Phi, Gamma, u, x);
    }
    return 0;
}
#endif
{% endif %}
