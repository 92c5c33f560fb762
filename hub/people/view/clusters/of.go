package clusters

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/version"
	"fairlead.dev/hub/fleet/registration/record"
)

const (
	// clockSkew is how far ahead an agent's clock may be without a remark, since requests take time.
	clockSkew = 5 * time.Second
	// soon is how long before its expiry a certificate gets a remark. Agents renew it earlier, at a random point in the
	// last third of its 30 days, excluding the last three.
	soon = 3 * 24 * time.Hour
)

// Input has the objects about one cluster. None of them is changed.
type Input struct {
	Cluster *clusterv1alpha1.Cluster
	// Lease is the lease of its agent; nil if there is none, or it may not be read.
	Lease *coordinationv1.Lease
	// Works counts its Works; nil if unknown.
	Works *Works
	// Now is the present time.
	Now time.Time
}

// Of returns a cluster as people see it.
func Of(in Input) Cluster {
	c := in.Cluster
	out := Cluster{
		Name: c.Name, Version: c.Status.KubernetesVersion,
		Region: c.Spec.Region, Zones: zones(c), Provider: c.Spec.Provider, Labels: c.Labels,
		Works: in.Works, Unclaimed: c.Status.UnclaimedObjects, Created: c.CreationTimestamp.Time,
		Report: c.Status.Agent.DeepCopy(),
	}
	for _, taint := range c.Spec.Taints {
		out.Taints = append(out.Taints, taint.ToString())
	}
	if n := c.Status.NodeSummary; n != nil {
		out.Nodes = &Nodes{Ready: n.ReadyNum, Total: n.TotalNum}
	}
	if sum := c.Capacity(); sum != nil {
		out.CPU, out.Memory, out.Pods = usage(sum, corev1.ResourceCPU), usage(sum, corev1.ResourceMemory), usage(sum, corev1.ResourcePods)
	}
	if how := record.Read[record.Joined](c.Annotations, contract.JoinedAnnotation); how != nil {
		out.Joined = &how.At
	}
	if last := record.Read[record.Certificate](c.Annotations, contract.CertificateAnnotation); last != nil {
		out.Certificate = &Certificate{Expires: last.Expires, Serial: last.Serial}
	}
	if ready := meta.FindStatusCondition(c.Status.Conditions, clusterv1alpha1.ClusterReady); ready != nil {
		out.Ready, out.Since = string(ready.Status), &ready.LastTransitionTime.Time
		if ready.Status != metav1.ConditionTrue {
			out.Why = ready.Message
		}
	}
	out.heartbeat(in.Lease, in.Now)
	if held := meta.FindStatusCondition(c.Status.Conditions, clusterv1alpha1.ClusterDeletionsHeld); held != nil && held.Status == metav1.ConditionTrue {
		out.DeletionsHeld = cmp.Or(held.Message, "It does not say why.")
	}
	out.State = state(c, out.Ready)
	out.Remarks = remarks(c, &out, in.Now)
	return out
}

func zones(c *clusterv1alpha1.Cluster) []string {
	if len(c.Spec.Zones) == 0 && c.Spec.Zone != "" {
		return []string{c.Spec.Zone}
	}
	return c.Spec.Zones
}

// usage returns the usage of a resource; nil if not reported.
func usage(sum *clusterv1alpha1.ResourceSummary, name corev1.ResourceName) *Usage {
	total, ok := sum.Allocatable[name]
	if !ok {
		return nil
	}
	u := &Usage{Total: total.DeepCopy(), Used: sum.Allocated[name].DeepCopy(), Pending: sum.Allocating[name].DeepCopy(), Free: total.DeepCopy()}
	u.Free.Sub(u.Used)
	u.Free.Sub(u.Pending)
	if u.Free.Sign() < 0 {
		u.Free = *resource.NewQuantity(0, total.Format)
	}
	return u
}

// limit is how much of a resource is reported, and how much of that is counted.
type limit struct{ reported, limit string }

// limited returns, by name, the resources of which a cluster reports more than is counted.
func limited(c *clusterv1alpha1.Cluster) []limit {
	var out []limit
	if c.Status.ResourceSummary == nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(c.Spec.CapacityLimit)) {
		most := c.Spec.CapacityLimit[name]
		if reported, ok := c.Status.ResourceSummary.Allocatable[name]; ok && reported.Cmp(most) > 0 {
			out = append(out, limit{fmt.Sprintf("%s %s", reported.String(), name), most.String()})
		}
	}
	return out
}

// heartbeat sets when the agent was last heard from, and its version.
func (c *Cluster) heartbeat(lease *coordinationv1.Lease, now time.Time) {
	if lease == nil {
		return
	}
	c.Agent = lease.Annotations[contract.AgentVersionAnnotation]
	if lease.Spec.RenewTime == nil {
		return
	}
	c.Heartbeat = &lease.Spec.RenewTime.Time
	switch {
	case !RenewsRarely(lease):
	case c.Ready == string(metav1.ConditionUnknown):
		if c.Since.After(*c.Heartbeat) {
			c.Heartbeat = c.Since
		}
	default:
		c.Heartbeat = &now // the hub would notice within seconds if its line were lost
	}
	lag := max(now.Sub(*c.Heartbeat), 0).Seconds()
	c.Lag = &lag
}

// RenewsRarely says whether an agent renews its lease rarely, because its line is its heartbeat.
func RenewsRarely(lease *coordinationv1.Lease) bool {
	seconds := lease.Spec.LeaseDurationSeconds
	return seconds != nil && time.Duration(*seconds)*time.Second >= contract.RestingLease
}

func state(c *clusterv1alpha1.Cluster, ready string) State {
	switch {
	case record.IsRetired(c.Annotations):
		return Forgotten
	case !c.DeletionTimestamp.IsZero():
		return Removing
	case ready == "":
		return Joining
	case ready == string(metav1.ConditionUnknown):
		return Silent
	case ready == string(metav1.ConditionFalse):
		return NotReady
	case IsCordoned(c):
		return Cordoned
	default:
		return Ready
	}
}

// IsCordoned says whether a cluster is cordoned.
func IsCordoned(c *clusterv1alpha1.Cluster) bool {
	return slices.ContainsFunc(c.Spec.Taints, func(t corev1.Taint) bool { return t.Key == contract.TaintClusterUnschedulable })
}

func remarks(c *clusterv1alpha1.Cluster, row *Cluster, now time.Time) []string {
	var out []string
	say := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if row.DeletionsHeld != "" {
		say("It holds back deletions: %s.", strings.TrimSuffix(row.DeletionsHeld, "."))
	}
	if meta.IsStatusConditionTrue(c.Status.Conditions, clusterv1alpha1.ClusterSeveralAgents) {
		say("Several agents pass for it; see `hub clusters describe %s`.", c.Name)
	}
	if meta.IsStatusConditionTrue(c.Status.Conditions, clusterv1alpha1.ClusterRightsWithheld) {
		say("Its agent lacks a right, because its name is kept; see `hub clusters describe %s`.", c.Name)
	}
	if meta.IsStatusConditionTrue(c.Status.Conditions, clusterv1alpha1.ClusterCapacityJumped) {
		say("It reports more than twice its usual capacity; see `hub clusters describe %s`.", c.Name)
	}
	if SaysNow(c, clusterv1alpha1.ClusterCapacityUnknown) {
		say("Its agent cannot read its nodes or pods, so its free resources are unknown; see `hub clusters describe %s`.", c.Name)
	}
	for _, limited := range limited(c) {
		say("It reports %s, of which spec.capacityLimit counts %s.", limited.reported, limited.limit)
	}
	if meta.IsStatusConditionTrue(c.Status.Conditions, clusterv1alpha1.ClusterEvictionSuspended) {
		say("Nothing is moved away from it, because too many clusters fell silent together.")
	}
	if cert := row.Certificate; cert != nil && row.State != Forgotten {
		switch left := cert.Expires.Sub(now); {
		case left <= 0:
			say("Its agent's certificate has expired; call it back with `hub token create --rejoin %s`.", c.Name)
		case left < soon:
			say("Its agent's certificate expires in %s and was not renewed; see the agent's log.", duration.HumanDuration(left))
		}
	}
	if row.Heartbeat != nil && row.Heartbeat.Sub(now) > clockSkew {
		say("Its agent's clock is %s ahead of this one.", duration.HumanDuration(row.Heartbeat.Sub(now)))
	}
	if row.State != Cordoned && IsCordoned(c) {
		say("It is cordoned.")
	}
	if row.Works != nil && row.Works.Failing > 0 {
		say("It refuses %d of %d objects; see `hub events --cluster %s`.", row.Works.Failing, row.Works.Total, c.Name)
	}
	if row.Unclaimed > 0 {
		say("%d objects in it name a Work that the hub does not have.", row.Unclaimed)
	}
	if row.Report != nil && row.Report.StuckObjects > 0 {
		say("%d objects were deleted from it and are held there by finalizers; see `hub events --cluster %s`.", row.Report.StuckObjects, c.Name)
	}
	if row.Report != nil && row.Report.Journal != nil && row.Report.Journal.Failing {
		say("Its agent cannot write its journal; free space on its disk or repair it.")
	}
	for _, sentence := range []string{upgradeOf(c), version.SkewOf(row.Agent)} {
		if sentence != "" {
			out = append(out, sentence)
		}
	}
	return out
}

// CompareBySeverity orders clusters by state, the worst first, and then by name.
func CompareBySeverity(a, b Cluster) int {
	all := States()
	return cmp.Or(cmp.Compare(slices.Index(all, a.State), slices.Index(all, b.State)), cmp.Compare(a.Name, b.Name))
}
