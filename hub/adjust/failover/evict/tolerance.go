package evict

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"fairlead.dev/common/contract"
	"fairlead.dev/common/quantity"
	"fairlead.dev/common/selector"
)

// DefaultToleration is how long an application tolerates that a cluster is not Ready if its policy does not say, as
// pods tolerate a node that is not ready.
const DefaultToleration = 300 * time.Second

// Tolerance is how long an application may stay in a cluster with NoExecute taints.
type Tolerance struct {
	// Forever says that the application may stay without a limit.
	Forever bool
	// Until is otherwise when it must leave; it may be in the past.
	Until time.Time
	// Taint is the taint that evicts it first; nil if none does.
	Taint *corev1.Taint
	// Seconds is how long that taint is tolerated; nil if it is not tolerated.
	Seconds *int64
	// ByDefault says that the toleration is DefaultToleration, because the policy has none.
	ByDefault bool
}

// Expired says whether the application must leave now.
func (v Tolerance) Expired(now time.Time) bool { return !v.Forever && !now.Before(v.Until) }

// Why returns a sentence that says why an application leaves a cluster.
func (v Tolerance) Why(cluster string) string {
	switch {
	case v.Taint == nil:
		return ""
	case v.Seconds == nil:
		return fmt.Sprintf("Cluster %s has taint %s, which the policy does not tolerate.", cluster, v.Taint.ToString())
	case v.ByDefault:
		return fmt.Sprintf("Cluster %s has taint %s, which is tolerated for %d s by default; the policy sets no other time.", cluster, v.Taint.ToString(), *v.Seconds)
	default:
		return fmt.Sprintf("Cluster %s has taint %s, which the policy tolerates for %d s only.", cluster, v.Taint.ToString(), *v.Seconds)
	}
}

// tolerate returns how long an application with these tolerations may stay with these taints. For each taint the first
// toleration that matches counts. A taint without timeAdded never expires. BySilence are the keys of the taints that
// policies add to clusters that are not Ready, in addition to the hub's own.
func tolerate(taints []corev1.Taint, tolerations []corev1.Toleration, bySilence sets.Set[string]) Tolerance {
	out := Tolerance{Forever: true}
	leave := func(at time.Time, v Tolerance) {
		if out.Forever || at.Before(out.Until) {
			v.Until = at
			out = v
		}
	}
	for i := range taints {
		taint := &taints[i]
		if taint.Effect != corev1.TaintEffectNoExecute {
			continue
		}
		silent := bySilence.Has(taint.Key) || taint.Key == contract.TaintClusterNotReady || taint.Key == contract.TaintClusterUnreachable
		toleration := selector.Toleration(tolerations, taint)
		byDefault := toleration == nil && silent
		if byDefault {
			toleration = &corev1.Toleration{TolerationSeconds: new(int64(DefaultToleration / time.Second))}
		}
		switch {
		case toleration == nil:
			leave(time.Time{}, Tolerance{Taint: taint})
		case toleration.TolerationSeconds != nil && taint.TimeAdded != nil:
			seconds := max(*toleration.TolerationSeconds, 0)
			leave(taint.TimeAdded.Add(quantity.Seconds(seconds)), Tolerance{Taint: taint, Seconds: new(seconds), ByDefault: byDefault})
		}
	}
	return out
}
