package podtemplate

import (
	corev1 "k8s.io/api/core/v1"
)

func (r *reader) toleration(c content) corev1.Toleration {
	out := corev1.Toleration{
		Key: r.text(c, "key"), Operator: corev1.TolerationOperator(r.text(c, "operator")),
		Value: r.text(c, "value"), Effect: corev1.TaintEffect(r.text(c, "effect")),
	}
	switch seconds := c["tolerationSeconds"].(type) {
	case nil:
	case int64:
		out.TolerationSeconds = &seconds
	case float64:
		out.TolerationSeconds = new(int64(seconds))
	default:
		r.refuse("tolerationSeconds", "number")
	}
	return out
}

func (r *reader) nodes(required content) *corev1.NodeSelector {
	out := &corev1.NodeSelector{}
	for c := range r.objects(required, "nodeSelectorTerms") {
		out.NodeSelectorTerms = append(out.NodeSelectorTerms, corev1.NodeSelectorTerm{
			MatchExpressions: r.demands(c, "matchExpressions"), MatchFields: r.demands(c, "matchFields"),
		})
	}
	return out
}

func (r *reader) demands(term content, field string) []corev1.NodeSelectorRequirement {
	var out []corev1.NodeSelectorRequirement
	for c := range r.objects(term, field) {
		demand := corev1.NodeSelectorRequirement{Key: r.text(c, "key"), Operator: corev1.NodeSelectorOperator(r.text(c, "operator"))}
		for _, entry := range r.list(c, "values") {
			value, ok := entry.(string)
			if !ok {
				r.refuse("values", "list of texts")
			}
			demand.Values = append(demand.Values, value)
		}
		out = append(out, demand)
	}
	return out
}
