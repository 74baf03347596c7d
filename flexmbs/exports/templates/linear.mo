model {{ name }} "{{ title }}"
  // x' = A x + B u, y = C x + D u: differences from the state of linearization
  // x: {{ states | join(", ") }}
  input Real u[{{ m }}] "{{ inputs | join(", ") }}";
  output Real y[{{ p }}] "{{ outputs | join(", ") }}";
  Real x[{{ n }}](each start = 0.0, each fixed = true);
protected
{% for key, rows in matrices %}
  constant Real {{ key }}[{{ rows | length }}, {{ rows[0] | length if rows else columns[key] }}] = {{ modelica(rows, columns[key]) }};
{% endfor %}
equation
  der(x) = A * x + B * u;
  y = C * x + D * u;
end {{ name }};
