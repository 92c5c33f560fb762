package agents

import (
	"fmt"
	"strings"
	"time"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
	"fairlead.dev/common/prose"
	"fairlead.dev/hub/flow/rollout/plan"
)

// namedClusters is how many clusters a message names.
const namedClusters = 5

// Decide returns which clusters to ask now.
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
	countPassed(out.Waves)
	specs := plan.Defaulted(in.Strategy).Waves
	for i := range out.Waves {
		if !passes(in, &specs[i], i, &out) {
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

// countPassed counts lost clusters as upgraded if a later wave has begun since their upgrade: their wave had passed
// with them, and clusters come and go.
func countPassed(waves []Wave) {
	for i := range waves {
		for j := range waves[i].Members {
			if m := &waves[i].Members[j]; m.State == Lost && hasBegun(waves[i+1:], m.attempt) {
				m.State, m.Message = Upgraded, ""
			}
		}
	}
}

// passes says whether the wave at an index is complete, so that the next one may begin. If not, it sets whom to ask or
// why nobody is asked.
func passes(in Input, spec *fairleadv1alpha1.Wave, index int, out *Decision) bool {
	w := &out.Waves[index]
	names := map[State][]string{}
	asked := 0
	for _, m := range w.Members {
		names[m.State] = append(names[m.State], m.Name)
		if m.asked {
			asked++
		}
	}
	held, flying := len(names[Held]), len(names[InFlight])
	if stopped, wait := tooMany(in, spec, w, names, out.Waves); wait {
		out.Stopped = stopped
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
	// Clusters whose agent is upgraded by hand prove nothing, and are not waited for.
	need := min(int(*spec.MinUpdated), len(w.Members)-len(names[ByHand]))
	has := len(names[Upgraded])
	if !anyLeft(out.Waves) {
		has += len(names[Lost]) // nothing is left to be proved
	}
	if has < need {
		out.Stopped = fmt.Sprintf("wave %s needs %d upgraded clusters and has %d; silent: %s", w.Name, need, has, firstNames(append(names[Silent], names[Lost]...)))
		return false
	}
	if asked == 0 {
		return true // no upgrade in this wave to wait for
	}
	if spec.Approval == fairleadv1alpha1.ApprovalAfter && !in.Approved.Has(w.Name) {
		out.Stopped = fmt.Sprintf("wave %s is healthy, and waits for somebody to approve it with --approve %s", w.Name, w.Name)
		return false
	}
	until, attempt := soaksUntil(w, spec.Soak.Duration)
	if in.Now.Before(until) && !hasBegun(out.Waves[index+1:], attempt) {
		out.Soaking, out.Until = w.Name, until
		return false
	}
	return true
}

// tooMany says whether too many clusters of a wave failed, so that no others are asked. If that is permanent, stopped
// is the reason; it is empty if a lost cluster may still come back. Once no cluster is left to ask, failures no longer
// matter.
func tooMany(in Input, spec *fairleadv1alpha1.Wave, w *Wave, names map[State][]string, waves []Wave) (stopped string, wait bool) {
	failed, lost, gone := len(names[Failed]), len(names[Lost]), 0
	for _, m := range w.Members {
		if m.State == Lost && in.Now.Sub(m.silentSince) >= grace {
			gone++
		}
	}
	most := plan.Scaled(spec.MaxFailures, len(w.Members)-len(names[Silent]), false)
	if failed <= most && (failed+lost <= most || !anyLeft(waves)) {
		return "", false
	}
	if failed+gone <= most {
		return "", true
	}
	var what []string
	if failed > 0 {
		what = append(what, "the upgrade failed in "+firstNames(names[Failed]))
	}
	if lost > 0 {
		what = append(what, "no heartbeat was received since the upgrade of "+firstNames(names[Lost]))
	}
	return fmt.Sprintf("in wave %s %s, and %d may fail; --retry tries them again", w.Name, strings.Join(what, " and "), most), true
}

// anyLeft says whether any cluster was not asked yet.
func anyLeft(waves []Wave) bool {
	for _, w := range waves {
		for _, m := range w.Members {
			if m.State == Held || m.State == Silent && !m.asked {
				return true
			}
		}
	}
	return false
}

// soaksUntil returns the end of a wave's soak time, and the latest attempt of its upgraded clusters. A cluster that was
// lost and came back gets a short soak time rather than the full one, because of hundreds one is always lost; an agent
// that keeps crashing is heard in between.
func soaksUntil(w *Wave, length time.Duration) (until time.Time, attempt int64) {
	for _, m := range w.Members {
		if m.State != Upgraded {
			continue
		}
		attempt = max(attempt, m.attempt)
		for _, end := range []time.Time{m.since.Add(length), m.backSince.Add(min(length, soak))} {
			if end.After(until) {
				until = end
			}
		}
	}
	return until, attempt
}

// hasBegun says whether one of the later waves was asked after an attempt, so that the wave of the attempt had passed.
// A cluster that was asked earlier, alone for a test, says nothing. In older hubs, where attempts were no times, they
// are all the same.
func hasBegun(later []Wave, attempt int64) bool {
	for _, w := range later {
		for _, m := range w.Members {
			if m.asked && m.attempt >= attempt {
				return true
			}
		}
	}
	return false
}

// firstNames lists the first of some names.
func firstNames(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return prose.Names(names, namedClusters)
}
