package native

import corev1 "k8s.io/api/core/v1"

// isServed returns a health rule for a kind whose objects extend the API: they are healthy once all of these
// conditions are True.
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

// namespaceActive returns whether a namespace can be used: it is not terminating.
func namespaceActive(live content) bool {
	return text(contentAt(live, "status"), "phase") != string(corev1.NamespaceTerminating)
}
