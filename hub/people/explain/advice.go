package explain

import (
	"fmt"
	"slices"
	"strings"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/prose"
	"fairlead.dev/hub/flow/scheduler/fit"
	"fairlead.dev/hub/people/view/applications"
)

// Advise returns what to do about the first obstacle; empty if there is none.
func Advise(r *Report) string {
	switch {
	case r.StaysWithNamespace:
		return "No policy can propagate this object. Create it in another namespace or, if --skipped-propagating-namespaces names this one, ask the operator of the hub to change that."
	case r.Stays != "":
		return fmt.Sprintf("No policy can propagate this object: %s.", r.Stays)
	case len(r.Policies) == 0 && len(r.Members) == 0:
		write := "Write"
		if slices.ContainsFunc(r.NearMisses, func(n NearMiss) bool { return n.Near }) {
			write = "Correct one that nearly does, or write"
		}
		return fmt.Sprintf("No policy selects this object. %s a PropagationPolicy in its namespace, or a ClusterPropagationPolicy, with a resourceSelector for %s %q.",
			write, r.Template.Kind, r.Template.Name)
	case r.NotApplied != "":
		return r.NotApplied
	case len(r.Policies) == 0: // it is attached to other templates
	case r.Scheduled == nil:
		return "The hub has not created a binding yet. If this does not change, see the Warning events of the object and of its policy."
	case r.Scheduled.Status != "True":
		return adviseOnScheduling(r)
	case r.Rollout != nil && r.Rollout.Next != "":
		return r.Rollout.Next
	}
	for _, m := range r.Members {
		switch {
		case m.Suspended:
			return fmt.Sprintf("The policy suspends dispatching to %s; remove spec.suspension from it to go on.", m.Cluster)
		case m.Ready != "True":
			return fmt.Sprintf("Cluster %s does not report (Ready is %s); its last report is shown. Check its agent.", m.Cluster, m.Ready)
		case m.Applied == "False":
			return fmt.Sprintf("Cluster %s refuses the object: fix what its message names, in the template or by an override policy.", m.Cluster)
		case m.Health == "Unhealthy":
			return fmt.Sprintf("The object was applied in %s but is not healthy there: %s", m.Cluster, adviseOnPods(m.PodReasons))
		}
	}
	return ""
}

// adviseOnPods returns what to do about the first known reason.
func adviseOnPods(reasons []workv1alpha1.PodReason) string {
	if len(reasons) == 0 {
		return "check its pods and events in that cluster."
	}
	r := reasons[0]
	if r.Reason == "CrashLoopBackOff" && r.Terminated == "OOMKilled" {
		r.Reason = r.Terminated
	}
	switch r.Reason {
	case "CrashLoopBackOff", "Error", "StartError", "ContainerCannotRun", "RunContainerError":
		return fmt.Sprintf("container %s keeps exiting; see its log in that cluster (kubectl logs %s -c %s --previous).", r.Container, r.Pod, r.Container)
	case "OOMKilled":
		return fmt.Sprintf("container %s needs more memory than its limit; raise the limit in the template, or for that cluster by an override policy.", r.Container)
	case "ImagePullBackOff", "ErrImagePull", "InvalidImageName", "ErrImageNeverPull":
		return fmt.Sprintf("the image of container %s cannot be pulled; check its name, and whether that cluster reaches its registry and has the Secret for it.", r.Container)
	case "CreateContainerConfigError":
		return "an object that the pod refers to is missing there; propagate it as well (spec.propagateDeps of the policy), or correct the reference."
	case "Unschedulable":
		return "no node there fits the pod; request less, or other nodes, in the template or by an override policy."
	case "ContainerNotReady":
		return fmt.Sprintf("container %s runs, but its readiness probe fails.", r.Container)
	default:
		return applications.Unready(&r) + "."
	}
}

func adviseOnScheduling(r *Report) string {
	if r.Scheduled.Reason == workv1alpha2.ReasonQuotaExceeded {
		return "A FederatedResourceQuota of the namespace forbids it: raise its spec.overall, or request less here or elsewhere in the namespace."
	}
	counts := map[string]int{}
	most := ""
	for _, a := range r.Attempts {
		for _, v := range a.Clusters {
			if v.Filter == "" {
				continue
			}
			counts[v.Filter]++
			if most == "" || counts[v.Filter] > counts[most] || counts[v.Filter] == counts[most] && strings.Compare(v.Filter, most) < 0 {
				most = v.Filter
			}
		}
	}
	switch most {
	case "TaintToleration":
		return "Most clusters are kept out by taints: add clusterTolerations to the policy, or remove the taints."
	case "APIEnablement":
		return "Most clusters do not serve this kind: install its CustomResourceDefinition there, or propagate that first."
	case "ClusterAffinity":
		return "Most clusters do not match the policy: correct its clusterAffinity, or the labels of the clusters."
	case "NamespaceClusters":
		return "The namespace may not use most clusters that the policy picks: name others in the policy, or ask an administrator to change the annotation fairlead.dev/clusters of the Namespace."
	case "SpreadConstraint":
		return "Most clusters have no region, zone, provider or label to spread by: set it on the Cluster, or change spreadConstraints."
	case "":
		if names := heldByQuotas(r.Attempts); len(names) > 0 {
			return fmt.Sprintf("Clusters fit, but a ResourceQuota of the namespace leaves too little room in %s: raise it there, or request less.", strings.Join(names, ", "))
		}
		if names := withoutSummary(r.Attempts); len(names) > 0 {
			return fmt.Sprintf("Clusters fit, but the free resources of %s are unknown, so they get no more replicas: see above for the reasons and what to do.", prose.Names(names, maxClusters))
		}
		return "Clusters fit, but there is too little room, or replicas cannot be spread as required: see the limits above; add room, or request less."
	default:
		return "See the reasons in the table of the clusters."
	}
}

// heldByQuotas returns the sorted names of the clusters whose capacity a quota in the member limits.
func heldByQuotas(attempts []Attempt) []string {
	var out []string
	for _, a := range attempts {
		for _, v := range a.Clusters {
			if fit.ByQuota(v.CapacityLimit) {
				out = append(out, v.Cluster)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
