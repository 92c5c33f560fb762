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

// DefaultToleration is for how long an application tolerates that a cluster is not Ready if its policy
// does not say, as pods tolerate it of nodes.
const DefaultToleration = 300 * time.Second

// Tolerance is for how long an application may stay in a cluster that is tainted NoExecute.
type Tolerance struct {
	// Forever says that the application may stay.
	Forever bool
	// Until is when it must leave otherwise; it may be past.
	Until time.Time
	// Taint is the taint that drives it out first, nil if none does.
	Taint *corev1.Taint
	// Seconds is for how long that taint is tolerated; nil if it is not at all.
	Seconds *int64
	// ByDefault says that it is tolerated for DefaultToleration, because the policy says nothing.
	ByDefault bool
}

// Expired says whether the application must leave now.
func (v Tolerance) Expired(now time.Time) bool { return !v.Forever && !now.Before(v.Until) }

// Why says in a sentence why an application leaves a cluster.
func (v Tolerance) Why(cluster string) string {
	switch {
	case v.Taint == nil:
		return ""
	case v.Seconds == nil:
		return fmt.Sprintf("Cluster %s has taint %s, which the policy does not tolerate.", cluster, v.Taint.ToString())
	case v.ByDefault:
		return fmt.Sprintf("Cluster %s has taint %s, which is tolerated for %d s if the policy does not say for how long.", cluster, v.Taint.ToString(), *v.Seconds)
	default:
		return fmt.Sprintf("Cluster %s has taint %s, which the policy tolerates for %d s only.", cluster, v.Taint.ToString(), *v.Seconds)
	}
}

// tolerate says how long an application with these tolerations may stay where these
// taints are. The first toleration that accepts a taint is the one that counts for it.
// A taint that does not say since when it is there never expires. BySilence are the keys of
// the taints that clusters get for not being Ready, beside those of the hub itself.
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
