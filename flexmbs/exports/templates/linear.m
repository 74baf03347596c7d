function [system, A, B, C, D] = {{ name }}()
% {{ title }}
% x' = A x + B u, y = C x + D u: differences from the state of linearization.
% system: object of the Control System Toolbox, or a struct without the toolbox.
{% for key, rows in matrices %}
{{ key }} = {{ matlab(rows, columns[key]) }};
{% endfor %}
states = {{ cells(states) }};
inputs = {{ cells(inputs) }};
outputs = {{ cells(outputs) }};
if exist('ss', 'file') == 2
    system = ss(A, B, C, D, 'StateName', states, 'InputName', inputs, 'OutputName', outputs);
else
    system = struct('A', A, 'B', B, 'C', C, 'D', D, 'states', {states}, 'inputs', {inputs}, 'outputs', {outputs});
end
end
