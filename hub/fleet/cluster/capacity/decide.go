package capacity

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
)

// day is the shortest time for which a baseline is kept, and the longest for which a jump is reported.
const day = 24 * time.Hour

// Baseline is the capacity that later reports are compared with.
type Baseline struct {
	// At is the time of the report.
	At metav1.Time `json:"at"`
	// Allocatable are the amounts in that report.
	Allocatable corev1.ResourceList `json:"allocatable"`
	// Jumped is since when reports exceed twice the baseline; nil if they do not. It is stored here rather than derived
	// from the condition, which the agent can write.
	Jumped *metav1.Time `json:"jumped,omitempty"`
}

// Read reads the baseline from an annotation of a Cluster; nil if there is none.
func Read(annotation string) *Baseline {
	usual := &Baseline{}
	if annotation == "" || json.Unmarshal([]byte(annotation), usual) != nil {
		return nil
	}
	return usual
}

// Input is everything that a decision about one cluster depends on.
type Input struct {
	// Now is the hub's time.
	Now     time.Time
	Cluster string
	// Usual is the stored baseline; nil if there is none.
	Usual *Baseline
	// Believed are the allocatable amounts that the hub accepted from the last report; empty if there was no report.
	Believed corev1.ResourceList
}

// Decision is the result of comparing a report with its baseline.
type Decision struct {
	// Usual is the baseline to store; nil to keep the stored one.
	Usual *Baseline
	// Jumped says whether a report is more than twice the baseline, and Message names the resources.
	Jumped  bool
	Message string
}

// comparedResources are the resources that are compared.
func comparedResources() []corev1.ResourceName {
	return []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourcePods}
}

// Decide compares a report with the baseline. The baseline follows the reports once a day, and then shrinks by half at most, so that a
// cluster that is small at night may grow again in the morning without a warning. After a day a jump becomes the new baseline.
func Decide(in Input) Decision {
	now := metav1.NewTime(in.Now.UTC().Truncate(time.Second)) // as precise as it is stored
	next := &Baseline{At: now, Allocatable: corev1.ResourceList{}}
	if in.Usual != nil {
		next = &Baseline{At: in.Usual.At, Allocatable: maps.Clone(in.Usual.Allocatable), Jumped: in.Usual.Jumped}
	}
	if next.Allocatable == nil {
		next.Allocatable = corev1.ResourceList{}
	}
	over := next.follow(in.Believed, now)
	switch {
	case len(over) == 0:
		next.Jumped = nil
	case next.Jumped == nil:
		next.Jumped = &now
	case !in.Now.Before(next.Jumped.Add(day)):
		for _, name := range over {
			next.Allocatable[name] = in.Believed[name].DeepCopy()
		}
		next.At, next.Jumped, over = now, nil, nil
	}
	out := Decision{Jumped: len(over) > 0}
	if out.Jumped {
		out.Message = message(in.Cluster, next, over)
	}
	if len(next.Allocatable) > 0 && !equality.Semantic.DeepEqual(next, in.Usual) {
		out.Usual = next
	}
	return out
}

// follow updates the amounts of a baseline, and returns the resources of which more than twice as much is reported.
func (u *Baseline) follow(believed corev1.ResourceList, now metav1.Time) []corev1.ResourceName {
	var over []corev1.ResourceName
	noted, due := false, !now.Time.Before(u.At.Add(day))
	for _, name := range comparedResources() {
		reported, ok := believed[name]
		if !ok {
			continue
		}
		usual := u.Allocatable[name]
		twice := usual.DeepCopy()
		twice.Add(usual)
		switch {
		case usual.Sign() <= 0:
			if reported.Sign() > 0 {
				u.Allocatable[name] = reported.DeepCopy()
			}
		case reported.Cmp(twice) > 0:
			over = append(over, name)
		case due && reported.Cmp(usual) != 0:
			u.Allocatable[name] = larger(reported, half(usual))
			noted = true
		}
	}
	if noted {
		u.At = now
	}
	return over
}

// message says which resources jumped, and what to do. It contains no reported amounts: an agent could otherwise have the condition
// rewritten with every report.
func message(cluster string, usual *Baseline, over []corev1.ResourceName) string {
	var names, limits []string
	for _, name := range over {
		amount := usual.Allocatable[name]
		names = append(names, fmt.Sprintf("%s (%s)", name, amount.String()))
		limits = append(limits, fmt.Sprintf("%q:%q", name, amount.String()))
	}
	return fmt.Sprintf("The agent reports more than twice its usual amount of %s, and replicas that are divided by capacity go there. "+
		"If the cluster does not have that much, limit what the hub counts: `kubectl patch cluster %s --type merge -p '{\"spec\":{\"capacityLimit\":{%s}}}'`.",
		strings.Join(names, ", "), cluster, strings.Join(limits, ","))
}

// Condition returns the condition to write, given the present one; nil if the present one is up to date.
func (d Decision) Condition(has *metav1.Condition, generation int64, now time.Time) *metav1.Condition {
	out := &metav1.Condition{
		Type: clusterv1alpha1.ClusterCapacityJumped, Status: metav1.ConditionFalse, Reason: clusterv1alpha1.ReasonCapacityUsual,
		Message: "The agent reports its usual capacity, or one that it has reported for a day.", ObservedGeneration: generation,
		LastTransitionTime: metav1.NewTime(now),
	}
	if d.Jumped {
		out.Status, out.Reason, out.Message = metav1.ConditionTrue, clusterv1alpha1.ReasonReportedCapacityDoubled, d.Message
	}
	if has == nil && !d.Jumped || has != nil && has.Status == out.Status && has.Reason == out.Reason && has.Message == out.Message {
		return nil
	}
	return out
}

func larger(a, b resource.Quantity) resource.Quantity {
	if a.Cmp(b) >= 0 {
		return a.DeepCopy()
	}
	return b
}

// half halves a quantity: to a thousandth below 2^40, to a whole unit above.
func half(q resource.Quantity) resource.Quantity {
	if milli := q.MilliValue(); q.Value() < 1<<40 {
		return *resource.NewMilliQuantity(milli/2, q.Format)
	}
	return *resource.NewQuantity(q.Value()/2, q.Format)
}
