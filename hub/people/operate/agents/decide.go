package agents

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
	"fairlead.dev/hub/flow/rollout/plan"
)

const (
	// grace is how much longer than spec.agent.reportWithin an answer may take: until the agent has
	// asked its guard, and until the one that it goes back to is heard.
	grace = 2 * time.Minute
	// namedClusters is how many clusters a reason names.
	namedClusters = 5
)

// Decide says which clusters are asked now.
func Decide(in Input) Decision {
	byName := map[string]*clusterv1alpha1.Cluster{}
	for _, c := range in.Clusters {
		byName[c.Name] = c
	}
	out := Decision{}
	for _, w := range plan.Waves(plan.Input{Strategy: in.Strategy, Seed: in.Wanted.Image, Targets: in.Clusters}) {
		wave := Wave{Name: w.Name}
		for _, name := range w.Clusters {
			wave.Members = append(wave.Members, memberOf(in, byName[name]))
		}
		out.Waves = append(out.Waves, wave)
	}
	specs := plan.Defaulted(in.Strategy).Waves
	for i := range out.Waves {
		if !passes(in, &specs[i], &out.Waves[i], &out) {
			return out
		}
	}
	out.Done = true
	for _, w := range out.Waves {
		for _, m := range w.Members {
			if m.State == Silent && !m.asked {
				out.Ask, out.Done = append(out.Ask, m.Name), false
			}
		}
	}
	return out
}

// memberOf says how far one cluster is.
func memberOf(in Input, c *clusterv1alpha1.Cluster) Member {
	out := Member{Name: c.Name, State: Held}
	wanted, report := c.Spec.Agent, c.Status.AgentUpgrade
	out.asked = wanted != nil && wanted.Image == in.Wanted.Image && wanted.Version == in.Wanted.Version && !in.Retry.Has(c.Name)
	if out.asked && report != nil && report.Image == wanted.Image && report.Attempt == wanted.Attempt {
		out.Message = report.Message
		switch report.Phase {
		case clusterv1alpha1.AgentUpgraded:
			out.State, out.since = Upgraded, report.Time.Time
			return out
		case clusterv1alpha1.AgentRolledBack:
			out.State = Failed
			return out
		case clusterv1alpha1.AgentRefused, clusterv1alpha1.AgentNotInPod:
			out.State = ByHand
			return out
		case clusterv1alpha1.AgentUpgrading:
		}
	}
	ready := meta.FindStatusCondition(c.Status.Conditions, clusterv1alpha1.ClusterReady)
	since, known := in.Asked[c.Name]
	switch {
	case (ready == nil || ready.Status == metav1.ConditionUnknown) && (!out.asked || report == nil || report.Phase != clusterv1alpha1.AgentUpgrading):
		out.State = Silent
	case out.asked && known && in.Now.Sub(since) > within(wanted)+grace:
		out.State = Failed
		out.Message = strings.TrimSpace("its agent does not say what came of it; one of before upgrades from the hub never does, and is upgraded by hand. " + out.Message)
	case out.asked:
		out.State = InFlight
	}
	return out
}

func within(wanted *clusterv1alpha1.WantedAgent) time.Duration {
	if wanted.ReportWithin == nil {
		return 5 * time.Minute
	}
	return wanted.ReportWithin.Duration
}

// passes says whether the next wave may begin, and what is done in this one.
func passes(in Input, spec *fairleadv1alpha1.Wave, w *Wave, out *Decision) bool {
	names := map[State][]string{}
	asked := 0
	for _, m := range w.Members {
		names[m.State] = append(names[m.State], m.Name)
		if m.asked {
			asked++
		}
	}
	held, flying, failed := len(names[Held]), len(names[InFlight]), len(names[Failed])
	if most := plan.Scaled(spec.MaxFailures, len(w.Members)-len(names[Silent]), false); failed > most {
		out.Stopped = fmt.Sprintf("in wave %s the upgrade failed in %s, and %d may; --retry tries them again", w.Name, listed(names[Failed]), most)
		return false
	}
	if held > 0 {
		if spec.Approval == fairleadv1alpha1.ApprovalBefore && asked == 0 && !in.Approved.Has(w.Name) {
			out.Stopped = fmt.Sprintf("wave %s waits for somebody to approve it with --approve %s", w.Name, w.Name)
			return false
		}
		most := max(plan.Scaled(spec.MaxConcurrent, len(w.Members), false), 1)
		out.Ask = names[Held][:min(held, max(most-flying, 0))]
		return false
	}
	if flying > 0 {
		return false
	}
	// Clusters that are upgraded by hand prove nothing, and are not waited for.
	if need := min(int(*spec.MinUpdated), len(w.Members)-len(names[ByHand])); len(names[Upgraded]) < need {
		out.Stopped = fmt.Sprintf("wave %s is to have %d upgraded and has %d; silent are %s", w.Name, need, len(names[Upgraded]), listed(names[Silent]))
		return false
	}
	if asked == 0 {
		return true // nothing was proved here that could be waited for
	}
	if spec.Approval == fairleadv1alpha1.ApprovalAfter && !in.Approved.Has(w.Name) {
		out.Stopped = fmt.Sprintf("wave %s is well, and waits for somebody to approve it with --approve %s", w.Name, w.Name)
		return false
	}
	if until := wellSince(w).Add(spec.Soak.Duration); spec.Soak.Duration > 0 && in.Now.Before(until) && !settled(out.Waves, w) {
		out.Soaking, out.Until = w.Name, until
		return false
	}
	return true
}

// wellSince is when the last of a wave was upgraded.
func wellSince(w *Wave) time.Time {
	var out time.Time
	for _, m := range w.Members {
		if m.since.After(out) {
			out = m.since
		}
	}
	return out
}

// settled says that a wave after this one has begun: it has passed already.
func settled(waves []Wave, w *Wave) bool {
	after := false
	for i := range waves {
		for _, m := range waves[i].Members {
			if after && m.asked {
				return true
			}
		}
		after = after || waves[i].Name == w.Name
	}
	return false
}

// listed names the first of some clusters.
func listed(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	out := strings.Join(names[:min(namedClusters, len(names))], ", ")
	if more := len(names) - namedClusters; more > 0 {
		out += fmt.Sprintf(" and %d more", more)
	}
	return out
}
