package rollout

import (
	"fmt"
	"maps"
	"strings"
	"time"

	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
	"fairlead.dev/common/revision"
	"fairlead.dev/hub/flow/rollout/admit"
	"fairlead.dev/hub/flow/rollout/judge"
)

// content is the content of a revision.
type content struct {
	template, config string
	// override has the change that an override policy makes, by cluster.
	override map[string]string
}

func (c content) clone() content {
	c.override = maps.Clone(c.override)
	return c
}

func (c content) hash() string {
	var out strings.Builder
	out.WriteString(c.template + "+" + c.config)
	for _, name := range names(c.override) {
		out.WriteString("," + name + "=" + c.override[name])
	}
	return strings.ReplaceAll(out.String(), "-", "_")
}

// in returns the manifest that a cluster gets.
func (c content) in(cluster string) string { return c.template + "+" + c.config + c.override[cluster] }

// revisionSecret is the stored content of a revision.
type revisionSecret struct {
	content
	frozen admit.Frozen
}

// work is the Work of an application in one cluster.
type work struct {
	revision   revision.ID
	since      time.Time
	generation int
	manifest   string
	replicas   int
	report     report
}

// report is the agent's report on a generation of a Work.
type report struct {
	generation                int
	applied, refused, healthy bool
}

// object is the object that an agent applied from a Work.
type object struct {
	generation int // of the Work, last applied
	manifest   string
	replicas   int
	readyAt    time.Time
	// seen is the latest generation that the agent knows, and seenAt the time since when.
	seen   int
	seenAt time.Time
}

// app is an application with its binding, its rollout and its Works.
type app struct {
	name      string
	strategy  string // empty: not staged
	live      content
	replicas  int
	targets   map[string]bool
	suspended map[string]bool
	// pinned are clusters whose Works somebody protected from changes before there was a strategy.
	pinned map[string]bool
	// trouble has the faults of templates, by "TEMPLATE CLUSTER" or "TEMPLATE".
	trouble map[string]string
	spec    fairleadv1alpha1.StagedRolloutSpec
	// status is the stored JSON; seen is the status that the binding stage knows.
	status, seen string
	generation   int64
	secrets      map[int64]revisionSecret
	// taken are the Secrets that somebody removed.
	taken    map[int64]revisionSecret
	works    map[string]*work
	objects  map[string]*object
	saved    string
	restored bool
	// parsed is the decoded parsedText, which callers must not change.
	parsedText string
	parsed     *fairleadv1alpha1.StagedRolloutStatus
	made       int64 // the highest revision number ever
	watch      watch
}

func newApp(name string) *app {
	return &app{
		name: name, replicas: 1, targets: map[string]bool{}, suspended: map[string]bool{}, pinned: map[string]bool{}, trouble: map[string]string{}, secrets: map[int64]revisionSecret{},
		works: map[string]*work{}, objects: map[string]*object{}, live: content{override: map[string]string{}, config: "c1"}, watch: newWatch(),
	}
}

// does returns the fault of a template in a cluster: refuses, sick or cuts; empty if it has none.
func (a *app) does(manifest, cluster string) string {
	template, _, _ := strings.Cut(manifest, "+")
	if t, ok := a.trouble[template+" "+cluster]; ok {
		return t
	}
	return a.trouble[template]
}

// bind plays the binding stage, which decides about Works by the status of the rollout alone.
func (w *world) bind() bool {
	changed := false
	for _, name := range names(w.apps) {
		a := w.apps[name]
		text := a.status
		if w.slow && a.seen != a.status {
			text = a.seen
			w.after(time.Second)
		}
		status := a.read()
		if text != a.status {
			status = parse(text)
		}
		known := revision.NewPlan(status)
		for _, cluster := range names(a.targets) {
			have := a.works[cluster]
			changed = w.bindOne(a, cluster, have, known, status) || changed
		}
		for _, cluster := range names(a.works) {
			if !a.targets[cluster] {
				delete(a.works, cluster)
				delete(a.objects, cluster)
				w.tell("%s: the Work in %s is deleted", a.name, cluster)
				changed = true
			}
		}
	}
	return changed
}

func (w *world) bindOne(a *app, cluster string, have *work, known revision.Plan, status *fairleadv1alpha1.StagedRolloutStatus) bool {
	if a.strategy == "" {
		if a.pinned[cluster] && have != nil {
			return false
		}
		return w.writeWork(a, cluster, have, revision.ID{}, a.live.in(cluster))
	}
	id := revision.ID{}
	if have != nil {
		id = have.revision
		if id.Zero() {
			id = a.found(status, have, cluster)
		}
	}
	want := known.Wanted(cluster, id)
	switch {
	case want.Zero():
		if have == nil {
			return false
		}
		return w.writeWork(a, cluster, have, have.revision, have.manifest) // scaled in place
	case have != nil && want.Hash == id.Hash:
		return w.writeWork(a, cluster, have, have.revision, have.manifest)
	}
	secret, kept := a.secrets[want.Number]
	if !kept || secret.hash() != want.Hash {
		if current := a.read(); status == current && known.Known(want) && len(a.taken) == 0 {
			w.breaks("%s: the content of revision %s is gone while it is wanted in %s", a.name, want, cluster)
		}
		return false
	}
	if !w.writeWork(a, cluster, have, want, secret.in(cluster)) {
		return false
	}
	if proven, kept := a.secrets[status.Stable]; kept && proven.in(cluster) != secret.in(cluster) {
		a.works[cluster].since = w.now // The previous manifest may have failed there.
	}
	return true
}

// found returns the revision of a Work that is older than the strategy.
func (a *app) found(status *fairleadv1alpha1.StagedRolloutStatus, have *work, cluster string) revision.ID {
	for _, r := range status.Revisions {
		if s, ok := a.secrets[r.Number]; ok && r.Cause == fairleadv1alpha1.CauseAdopted && s.in(cluster) == have.manifest {
			return revision.ID{Number: r.Number, Hash: r.Hash}
		}
	}
	return revision.ID{}
}

// isWhatRan returns whether the newest revision is the content that ran before there was a strategy, and not an edit of it: every cluster
// with a Work has it, and no wave sent it.
func (a *app) isWhatRan(before, after *fairleadv1alpha1.StagedRolloutStatus) bool {
	if newest := after.Revisions[len(after.Revisions)-1]; newest.Cause != fairleadv1alpha1.CauseAdopted ||
		before.Revision == after.Revision && len(before.Waves) > 0 && before.Waves[0].StartedAt != nil {
		return false
	}
	runs := false
	for name := range a.targets {
		have := a.judged(after, name)
		if have.Exists && have.Revision.Hash != a.secrets[after.Revision].hash() {
			return false
		}
		runs = runs || have.Exists
	}
	return runs
}

func (w *world) writeWork(a *app, cluster string, have *work, id revision.ID, manifest string) bool {
	if have != nil && have.revision == id && have.manifest == manifest && have.replicas == a.replicas {
		return false
	}
	next := &work{revision: id, manifest: manifest, replicas: a.replicas, since: w.now, generation: 1}
	if have != nil {
		next.generation, next.since, next.report = have.generation, have.since, have.report
		if manifest != have.manifest || next.replicas != have.replicas {
			next.generation++
		}
		if manifest != have.manifest {
			next.since = w.now
		}
	}
	if have == nil || have.revision != id {
		w.tell("%s: %s is sent r%d (%s)", a.name, cluster, id.Number, manifest)
	}
	w.checkWork(a, cluster, have, next)
	a.works[cluster] = next
	return true
}

// judged returns what the rollout stage knows about a Work.
func (a *app) judged(status *fairleadv1alpha1.StagedRolloutStatus, cluster string) judge.Work {
	have := a.works[cluster]
	if have == nil {
		return judge.Work{}
	}
	out := judge.Work{Exists: true, Revision: have.revision, Report: judge.Report{Current: have.report.generation == have.generation}}
	if have.revision.Zero() {
		out.Revision, out.Unchanged = a.found(status, have, cluster), true
	}
	for _, r := range status.Revisions {
		if r.Number == have.revision.Number && have.since.Before(r.CreatedAt.Time) {
			out.Unchanged = true
		}
	}
	out.Report.Applied, out.Report.Refused = have.report.applied, have.report.refused
	out.Report.Health = judge.Unhealthy
	if have.report.healthy {
		out.Report.Health = judge.Healthy
	}
	return out
}

func (w *world) app(name string) (*app, error) {
	if a := w.apps[name]; a != nil {
		return a, nil
	}
	return nil, fmt.Errorf("there is no app %q", name)
}
