package fit

import (
	corev1 "k8s.io/api/core/v1"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/common/selector"
)

func taints(q *Query, c *clusterv1alpha1.Cluster) string {
	if len(c.Spec.Taints) == 0 || q.Targets.Has(c.Name) {
		return ""
	}
	for i := range c.Spec.Taints {
		taint := &c.Spec.Taints[i]
		if taint.Effect != corev1.TaintEffectNoSchedule && taint.Effect != corev1.TaintEffectNoExecute {
			continue
		}
		if selector.Toleration(q.Tolerations, taint) == nil {
			return "cluster(s) had untolerated taint {" + taint.ToString() + "}"
		}
	}
	return ""
}
