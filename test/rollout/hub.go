package rollout

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/sets"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
	"fairlead.dev/common/disruption"
	"fairlead.dev/hub/flow/rollout/admit"
	"fairlead.dev/hub/flow/rollout/catchup"
	"fairlead.dev/hub/flow/rollout/plan"
)

// read returns the stored status, which callers must not change.
func (a *app) read() *fairleadv1alpha1.StagedRolloutStatus {
	if a.parsed == nil || a.parsedText != a.status {
		a.parsed, a.parsedText = parse(a.status), a.status
	}
	return a.parsed
}

func parse(text string) *fairleadv1alpha1.StagedRolloutStatus {
	out := &fairleadv1alpha1.StagedRolloutStatus{}
	if text == "" {
		return out
	}
	if err := json.Unmarshal([]byte(text), out); err != nil {
		panic(err)
	}
	return out
}

func encode(status *fairleadv1alpha1.StagedRolloutStatus) string {
	data, err := json.Marshal(status)
	if err != nil {
		panic(err)
	}
	return string(data)
}

// decide plays the rollout stage.
func (w *world) decide() bool {
	changed := false
	for _, name := range names(w.apps) {
		if a := w.apps[name]; a.strategy != "" {
			changed = w.decideOne(a) || changed
		}
	}
	return changed
}

func (w *world) decideOne(a *app) bool {
	before := a.read()
	in := w.input(a, *before)
	d := admit.Decide(in)
	if d.Cut != nil {
		if d = w.cut(a, d); d.Cut != nil {
			w.breaks("%s: a revision is made upon a revision", a.name)
			return false
		}
	}
	w.memory[a.name] = d.Memory
	w.after(d.RetryAfter)
	text := encode(&d.Status)
	if text == a.status {
		return false
	}
	again := w.input(a, *parse(text))
	if d2 := admit.Decide(again); d2.Cut == nil && encode(&d2.Status) != text {
		w.breaks("%s: what was decided is not at rest:\n%s\n%s", a.name, text, encode(&d2.Status))
	}
	w.checkStatus(a, before, &d.Status)
	w.tellStatus(a, before, &d)
	a.status = text
	for _, number := range d.Forget {
		delete(a.secrets, number)
	}
	return true
}

func (w *world) input(a *app, status fairleadv1alpha1.StagedRolloutStatus) admit.Input {
	in := admit.Input{
		Now: w.now, Generation: a.generation, Spec: *a.spec.DeepCopy(), Status: status, HubSuspect: w.suspect,
		Memory: w.memory[a.name], Slots: w.slots(a.strategy), Began: w.began, Heard: w.began.Add(disruption.StartGrace(leaseTime) + disruption.Wait),
	}
	if s, ok := a.secrets[status.Revision]; ok {
		in.Frozen = &s.frozen
	}
	in.Live = &admit.Live{Hash: a.live.hash(), Edited: true, Settle: plan.Defaulted(*w.strategies[a.strategy]).Settle.Duration}
	for _, r := range slices.Backward(status.Revisions) {
		if r.ContentOf == 0 {
			in.Live.Edited = r.Hash != in.Live.Hash
			break
		}
	}
	named := sets.Set[string]{}
	for _, group := range status.Clusters {
		named.Insert(group.Names...)
	}
	for _, name := range names(w.clusters) {
		c := w.clusters[name]
		if !a.targets[name] && a.works[name] == nil && !named.Has(name) {
			continue
		}
		in.Clusters = append(in.Clusters, admit.Cluster{
			Cluster: c.record, Target: a.targets[name], SilentSince: c.silentSince, HeardSince: c.heardSince,
			Suspended: a.suspended[name], Work: a.judged(&status, name),
		})
	}
	return in
}

// cut creates a revision and returns the decision that follows from it.
func (w *world) cut(a *app, d admit.Decision) admit.Decision {
	secret := revisionSecret{content: a.live.clone()}
	if d.Cut.ContentOf > 0 {
		secret.content = a.secrets[d.Cut.ContentOf].content
	}
	if d.Cut.Number <= a.made && !a.restored {
		w.breaks("%s: the number %d is used again", a.name, d.Cut.Number)
	}
	a.made = max(a.made, d.Cut.Number)
	var targets []*clusterv1alpha1.Cluster
	for _, name := range names(a.targets) {
		targets = append(targets, w.clusters[name].record)
	}
	secret.frozen = admit.Frozen{Strategy: *w.strategies[a.strategy], Waves: plan.Waves(plan.Input{Strategy: *w.strategies[a.strategy], Seed: a.name, Targets: targets})}
	a.secrets[d.Cut.Number] = secret
	w.memory[a.name] = d.Memory
	return admit.Decide(w.input(a, admit.Begin(d.Status, admit.Made{Cut: *d.Cut, Hash: secret.hash(), Strategy: a.strategy, At: w.now}, secret.frozen.Strategy)))
}

// slots returns the clusters that may catch up, over all rollouts of a strategy.
func (w *world) slots(strategy string) sets.Set[string] {
	in := catchup.Input{Max: int(*plan.Defaulted(*w.strategies[strategy]).CatchUp.MaxClusters), Busy: sets.Set[string]{}}
	for _, name := range names(w.apps) {
		a := w.apps[name]
		if a.strategy != strategy {
			continue
		}
		status := a.read()
		for _, group := range status.Clusters {
			for _, c := range group.Names {
				switch {
				case group.State == fairleadv1alpha1.ClusterCatchingUp && group.Reason == "":
					in.Busy.Insert(c)
				case group.State == fairleadv1alpha1.ClusterReturning && group.Reason == fairleadv1alpha1.ClusterReasonSlot && w.clusters[c] != nil:
					in.Queue = append(in.Queue, catchup.Waiting{Cluster: c, Since: w.clusters[c].heardSince})
				}
			}
		}
	}
	return catchup.Slots(in)
}

// tellStatus records the events of a decision and, if it changed, the summary of the status.
func (w *world) tellStatus(a *app, before *fairleadv1alpha1.StagedRolloutStatus, d *admit.Decision) {
	for _, e := range d.Events {
		w.tell("%s: %s: %s", a.name, e.Reason, e.Message)
	}
	if line, was := summary(&d.Status), summary(before); line != was {
		w.tell("%s  %s", a.name, line)
	}
}

// summary returns a status as one line.
func summary(s *fairleadv1alpha1.StagedRolloutStatus) string {
	var out strings.Builder
	fmt.Fprintf(&out, "r%d (stable r%d) %s", s.Revision, s.Stable, s.Phase)
	if c := meta.FindStatusCondition(s.Conditions, fairleadv1alpha1.RolloutConditionProgressing); c != nil && c.Reason != string(s.Phase) {
		out.WriteString(" " + c.Reason)
	}
	if s.Wave != "" {
		out.WriteString(" " + s.Wave)
	}
	for _, wave := range s.Waves {
		if wave.Size == 0 {
			continue
		}
		parts := []string{}
		for _, p := range []struct {
			n    int32
			what string
		}{
			{wave.Healthy, "healthy"},
			{wave.InFlight, "in flight"},
			{wave.Failed, "failed"},
			{wave.Lost, "lost"},
			{wave.Held, "held"},
			{wave.SetAside, "set aside"},
			{wave.Skipped, "skipped"},
		} {
			if p.n > 0 {
				parts = append(parts, fmt.Sprintf("%d %s", p.n, p.what))
			}
		}
		fmt.Fprintf(&out, " | %s: %s", wave.Name, strings.Join(parts, ", "))
	}
	return out.String()
}
