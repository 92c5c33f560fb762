package native

import corev1 "k8s.io/api/core/v1"

// conditionOf returns a status's condition of this type; nil if there is none.
func conditionOf[T ~string](status content, conditionType T) content {
	conditions, _ := status["conditions"].([]any)
	for _, entry := range conditions {
		if c, ok := entry.(content); ok && text(c, "type") == string(conditionType) {
			return c
		}
	}
	return nil
}

// holding returns the condition of this type if it is True; otherwise nil.
func holding[T ~string](status content, conditionType T) content {
	if c := conditionOf(status, conditionType); text(c, "status") == string(corev1.ConditionTrue) {
		return c
	}
	return nil
}

// holds returns whether the condition of this type is True.
func holds[T ~string](status content, conditionType T) bool {
	return holding(status, conditionType) != nil
}
