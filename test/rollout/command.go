package rollout

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	"fairlead.dev/test/builder"
	"fairlead.dev/test/story"
)

// SetUp executes a line of the setup.
func (w *world) SetUp(words []string) error {
	if len(words) < 2 {
		return fmt.Errorf("%s has no name", words[0])
	}
	o := story.Options(words[1:])
	switch words[0] {
	case "cluster":
		labels := map[string]string{}
		for key, value := range o {
			if value != "" {
				labels[key] = value
			}
		}
		for _, name := range bare(words[1:]) {
			c := builder.MakeCluster(name).Obj()
			c.Labels = labels
			w.clusters[name] = &cluster{record: c, connected: true, changedAt: w.now}
		}
		return nil
	case "strategy":
		return w.setUpStrategy(words[1], o)
	case "wave":
		s := w.strategies[words[1]]
		if s == nil || len(words) < 3 {
			return fmt.Errorf("wave needs a strategy and a name")
		}
		wave, err := readWave(words[2], story.Options(words[3:]))
		s.Waves = append(s.Waves, wave)
		return err
	case "app":
		a := newApp(words[1])
		a.strategy, a.live.template = o["strategy"], "v1"
		targets := names(w.clusters)
		if o["on"] != "" {
			targets = strings.Split(o["on"], ",")
		}
		for _, t := range targets {
			a.targets[t] = true
		}
		a.live.override = map[string]string{}
		w.apps[a.name] = a
		return nil
	}
	return fmt.Errorf("nobody knows %q", words[0])
}

func (w *world) setUpStrategy(name string, o map[string]string) error {
	s := &fairleadv1alpha1.RolloutStrategySpec{
		OnFailure: fairleadv1alpha1.FailureAction(o["fail"]), FirstTime: fairleadv1alpha1.FirstTime(o["first"]),
		CatchUp: fairleadv1alpha1.CatchUp{To: fairleadv1alpha1.CatchUpTo(o["to"])},
	}
	var err error
	if s.Settle, err = duration(o["settle"]); err != nil {
		return err
	}
	if s.ProgressDeadline, err = duration(o["deadline"]); err != nil {
		return err
	}
	if s.CatchUp.WarnAfter, err = duration(o["warn"]); err != nil {
		return err
	}
	if s.CatchUp.MaxClusters, err = number(o["max"]); err != nil {
		return err
	}
	if s.HistoryLimit, err = number(o["history"]); err != nil {
		return err
	}
	w.strategies[name] = s
	return nil
}

func readWave(name string, o map[string]string) (fairleadv1alpha1.Wave, error) {
	wave := fairleadv1alpha1.Wave{
		Name: name, OrderByLabel: o["order"], Approval: fairleadv1alpha1.ApprovalPoint(o["approval"]),
		Size: quantity(o["size"]), MaxConcurrent: quantity(o["concurrent"]), MaxFailures: quantity(o["failures"]),
	}
	if o["on"] != "" {
		wave.Clusters = &policyv1alpha1.ClusterAffinity{ClusterNames: strings.Split(o["on"], ",")}
	}
	if o["label"] != "" {
		key, value, _ := strings.Cut(o["label"], ":")
		wave.Clusters = &policyv1alpha1.ClusterAffinity{LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{key: value}}}
	}
	var err error
	if wave.Soak, err = duration(o["soak"]); err != nil {
		return wave, err
	}
	wave.MinUpdated, err = number(o["min"])
	return wave, err
}

func quantity(text string) *intstr.IntOrString {
	if text == "" {
		return nil
	}
	return new(intstr.Parse(text))
}

func duration(text string) (*metav1.Duration, error) {
	if text == "" {
		return nil, nil
	}
	d, err := time.ParseDuration(text)
	return &metav1.Duration{Duration: d}, err
}

func number(text string) (*int32, error) {
	if text == "" {
		return nil, nil
	}
	n, err := strconv.ParseInt(text, 10, 32)
	return new(int32(n)), err
}

// bare returns the words without the options.
func bare(words []string) []string {
	return slices.DeleteFunc(slices.Clone(words), func(word string) bool { return strings.Contains(word, "=") })
}

// Do executes a line.
func (w *world) Do(words []string) error {
	if words[0] == "expect" {
		return w.expect(words[1:])
	}
	w.tell("— %s", strings.Join(words, " "))
	switch words[0] {
	case "restart", "stop", "start":
		if w.down = words[0] == "stop" || w.down && words[0] == "restart"; !w.down {
			w.began = w.now
		}
		clear(w.memory)
		return nil
	case "suspect":
		w.suspect = true
		return nil
	case "trust":
		w.suspect = false
		return nil
	case "lose", "back":
		for _, name := range words[1:] {
			if w.clusters[name] == nil {
				return fmt.Errorf("there is no cluster %q", name)
			}
			w.connect(name, words[0] == "back")
		}
		return nil
	}
	if len(words) < 2 {
		return fmt.Errorf("%s needs an app", words[0])
	}
	a, err := w.app(words[1])
	if err != nil {
		return err
	}
	return w.doToApp(a, words[0], words[2:])
}

// expect compares an expectation with the state.
func (w *world) expect(args []string) error {
	if len(args) < 3 {
		return fmt.Errorf("expect what?")
	}
	a, err := w.app(args[0])
	if err != nil {
		return err
	}
	status := *a.read()
	want, have := strings.Join(args[2:], " "), ""
	switch args[1] {
	case "is":
		have = fmt.Sprintf("r%d stable r%d %s", status.Revision, status.Stable, status.Phase)
		if status.Wave != "" {
			have += " " + status.Wave
		}
	case "runs":
		var parts []string
		for _, word := range args[2:] {
			name, _, _ := strings.Cut(word, "=")
			got := "nothing"
			if o := a.objects[name]; o != nil && o.manifest != "" {
				got = o.manifest
			}
			parts = append(parts, name+"="+strings.TrimSuffix(got, "+c1"))
		}
		have = strings.Join(parts, " ")
	case "has":
		var parts []string
		for _, word := range args[2:] {
			name, _, _ := strings.Cut(word, "=")
			parts = append(parts, name+"="+stateOf(&status, name))
		}
		have = strings.Join(parts, " ")
	case "replicas":
		var parts []string
		for _, word := range args[2:] {
			name, _, _ := strings.Cut(word, "=")
			parts = append(parts, fmt.Sprintf("%s=%d", name, a.objects[name].replicas))
		}
		have = strings.Join(parts, " ")
	case "says":
		for _, c := range status.Conditions {
			if kind, _, _ := strings.Cut(want, "="); c.Type == kind {
				have = c.Type + "=" + c.Reason
			}
		}
	default:
		return fmt.Errorf("expect %s?", args[1])
	}
	if have != want {
		return fmt.Errorf("%s %s %q, expected is %q", a.name, args[1], have, want)
	}
	return nil
}

func stateOf(status *fairleadv1alpha1.StagedRolloutStatus, name string) string {
	for _, group := range status.Clusters {
		if slices.Contains(group.Names, name) {
			return strings.TrimSuffix(string(group.State)+"/"+group.Reason, "/")
		}
	}
	return "stable"
}
