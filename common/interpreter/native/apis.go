package native

import corev1 "k8s.io/api/core/v1"

// isServed returns a rule about a kind that is part of the API once all of these
// conditions hold.
func isServed(conditionTypes ...string) func(content) bool {
	return func(live content) bool {
		for _, conditionType := range conditionTypes {
			if !holds(contentAt(live, "status"), conditionType) {
				return false
			}
		}
		return true
	}
}

// namespaceActive says whether a namespace can be used: it is not on its way out.
func namespaceActive(live content) bool {
	return text(contentAt(live, "status"), "phase") != string(corev1.NamespaceTerminating)
}
