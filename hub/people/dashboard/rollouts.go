package dashboard

import (
	"context"
	"html/template"
	"strings"

	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
	"fairlead.dev/common/kube"
	"fairlead.dev/hub/people/auth"
	"fairlead.dev/hub/people/dashboard/chart"
	"fairlead.dev/hub/people/live"
	"fairlead.dev/hub/people/view/rollouts"
)

// rolloutList is the data of the page of rollouts.
type rolloutList struct {
	Rows     []rolloutRow
	Paging   paging
	Filtered bool
	// Hidden says that there may be rollouts that the person may not see.
	Hidden bool
}

// rolloutRow is a rollout in the list.
type rolloutRow struct {
	rollouts.Rollout
	Path   string
	Shares template.HTML
}

// listsRollouts is the right to list rollouts of a kind.
func listsRollouts(kind kube.RolloutKind) auth.Access {
	return auth.Access{Verb: "list", Group: fairleadv1alpha1.GroupVersion.Group, Resource: kind.Resource}
}

func (s *Server) rollouts(ctx context.Context, v *visit) (*page, error) {
	scope, err := v.user.ScopeOf(ctx, listsRollouts(kube.StagedRollouts()), s.index.Namespaces())
	if err != nil {
		return nil, err
	}
	wide, err := v.user.May(ctx, listsRollouts(kube.ClusterStagedRollouts()))
	if err != nil {
		return nil, err
	}
	words, namespace, phase := strings.Fields(strings.ToLower(v.text("q"))), v.text("namespace"), v.text("phase")
	namespaces, phases := map[string]int{}, map[string]int{}
	var rows []rollouts.Rollout
	for _, one := range s.index.Rollouts() {
		in := one.Object.GetNamespace()
		if in == "" && !wide || in != "" && !scope.Has(in) {
			continue
		}
		r := rollouts.Of(one.Object, one.App.Template, v.now)
		namespaces[in]++
		phases[string(r.Phase)]++
		if namespace != "" && in != namespace || phase != "" && string(r.Phase) != phase ||
			!containsAll(strings.ToLower(r.Namespace+"/"+r.Name+" "+r.Kind+" "+r.Strategy), words) {
			continue
		}
		rows = append(rows, r)
	}
	delete(namespaces, "")
	delete(phases, "")
	shown, paging := pageOf(v, "page", "rollout", rows, rowsPerPage)
	list := rolloutList{Paging: paging, Filtered: len(words) > 0 || namespace+phase != "", Hidden: !scope.All || !wide}
	for _, r := range shown {
		list.Rows = append(list.Rows, rolloutRow{Rollout: r, Path: rolloutPath(r.Namespace, r.Binding), Shares: sharesOf(rollouts.Sum(r.Waves), r.Named())})
	}
	filter := filterBar{
		Action: "/rollouts", Query: v.text("q"), Placeholder: "Name, kind or strategy", Clear: clearOf(v, "q", "namespace", "phase"),
		Selects: []filterSelect{
			{Name: "phase", Label: "Phase", Choices: choices(phases, phase)},
			{Name: "namespace", Label: "Namespace", Choices: choices(namespaces, namespace)},
		},
	}
	return &page{
		title: "Rollouts", nav: "rollouts", heading: heading{Title: "Rollouts"},
		fragments: []fragment{
			{id: "filter", template: "filter", data: filter, still: true},
			{id: "rollouts", template: "rollouts", data: list},
		},
		follows: func(t live.Topic) bool { return t.Kind == live.Rollout },
	}, nil
}

// sharesOf draws how many clusters of a wave are in each state.
func sharesOf(w rollouts.Wave, of string) template.HTML {
	return template.HTML(chart.Shares(of+": "+w.Counted(), []chart.Share{ //nolint:gosec // plot escapes.
		{Class: "ok", Count: int(w.Healthy)},
		{Class: "busy", Count: int(w.InFlight)},
		{Class: "bad", Count: int(w.Failed)},
		{Class: "lost", Count: int(w.Lost)},
		{Class: "warn", Count: int(w.SetAside)},
		{Class: "idle", Count: int(w.Skipped)},
		{Class: "held", Count: int(w.Held)},
	}))
}
