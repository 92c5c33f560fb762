package selector

import corev1 "k8s.io/api/core/v1"

// Toleration returns the first toleration that tolerates a taint; nil if there is none. The rules are those of pods
// and nodes: an empty effect tolerates every effect, an empty key with the operator Exists every key.
func Toleration(tolerations []corev1.Toleration, taint *corev1.Taint) *corev1.Toleration {
	for i := range tolerations {
		if tolerates(&tolerations[i], taint) {
			return &tolerations[i]
		}
	}
	return nil
}

func tolerates(t *corev1.Toleration, taint *corev1.Taint) bool {
	if t.Effect != "" && t.Effect != taint.Effect {
		return false
	}
	if t.Key != taint.Key && (t.Key != "" || t.Operator != corev1.TolerationOpExists) {
		return false
	}
	switch t.Operator {
	case corev1.TolerationOpExists:
		return true
	case "", corev1.TolerationOpEqual:
		return t.Value == taint.Value
	default:
		return false
	}
}
