package scenario

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/test/builder"
	"fairlead.dev/test/story"
)

// SetUp executes a line of the setup.
func (w *world) SetUp(words []string) error {
	if len(words) < 2 {
		return fmt.Errorf("%s has no name", words[0])
	}
	if words[0] == "app" {
		a, err := newApp(words)
		if err == nil {
			w.apps[a.name] = a
		}
		return err
	}
	o := story.Options(words[2:])
	room := int64(100)
	if o["room"] != "" {
		var err error
		if room, err = strconv.ParseInt(o["room"], 10, 64); err != nil {
			return fmt.Errorf("room: %w", err)
		}
	}
	w.clusters[words[1]] = builder.MakeCluster(words[1]).Region(o["region"]).Obj()
	w.members[words[1]] = &member{name: words[1], alive: true, connected: true, room: room, objects: map[string]*object{}, sick: map[string]int32{}}
	return nil
}

// Do executes a line.
func (w *world) Do(words []string) error {
	verb, args := words[0], words[1:]
	switch verb {
	case "expect":
		return w.expect(args)
	case "restart", "stop", "start":
		w.tell("— the hub: %s", verb)
		w.hub = nil
		if verb != "stop" {
			w.hub = newHub(w.now)
		}
		return nil
	case "sicken", "heal", "template", "release", "scale", "suspend", "resume":
		return w.doToApp(verb, args)
	}
	w.tell("— %s %v", verb, args)
	if verb == "room" {
		if len(args) != 2 || w.members[args[0]] == nil {
			return fmt.Errorf("room needs a cluster and a number")
		}
		n, err := strconv.ParseInt(args[1], 10, 64)
		w.members[args[0]].room = n
		return err
	}
	for _, name := range args {
		if w.members[name] == nil {
			return fmt.Errorf("there is no cluster %q", name)
		}
		if err := w.doToCluster(verb, name); err != nil {
			return err
		}
	}
	return nil
}

func (w *world) doToCluster(verb, name string) error {
	m := w.members[name]
	c := w.clusters[name]
	if c == nil && verb != "lose" && verb != "cut" && verb != "back" {
		return fmt.Errorf("the hub has no Cluster %s any more", name)
	}
	if c != nil {
		c = c.DeepCopy()
	}
	switch verb {
	case "lose":
		m.alive, m.connected = false, false
	case "cut":
		m.connected = false
	case "back":
		m.alive, m.connected, m.renews = true, true, w.now
	case "delete", "forget":
		// Deleting a cluster makes registration forget it: the agent is locked out.
		c.DeletionTimestamp = &metav1.Time{Time: w.now}
		retire(c)
		m.connected = false
	case "cordon":
		taintByHand(c, "NoSchedule")
	case "evict":
		taintByHand(c, "NoSchedule", "NoExecute")
	case "uncordon":
		taintByHand(c)
	default:
		return fmt.Errorf("nobody can %s", verb)
	}
	if c != nil {
		w.clusters[name] = c
	}
	return nil
}

func (w *world) doToApp(verb string, args []string) error {
	w.tell("— %s %v", verb, args)
	if len(args) == 0 || w.apps[args[0]] == nil {
		return fmt.Errorf("%s needs an app", verb)
	}
	a := w.apps[args[0]]
	switch verb {
	case "sicken", "heal":
		for _, arg := range args[1:] {
			name, most, _ := strings.Cut(arg, "=")
			m := w.members[name]
			if m == nil {
				return fmt.Errorf("there is no cluster %q", name)
			}
			n, err := strconv.ParseInt(cmp.Or(most, "0"), 10, 32)
			if err != nil {
				return err
			}
			if m.sick[a.name] = int32(n); verb == "heal" {
				delete(m.sick, a.name)
				if o := m.objects[a.name]; o != nil {
					o.readyAt = w.now.Add(a.startup)
				}
			}
		}
		return nil
	}
	b := a.binding.DeepCopy()
	b.Generation++
	switch verb {
	case "template":
		b.Spec.Resource.ResourceVersion += "1"
	case "release":
		for i := range b.Spec.GracefulEvictionTasks {
			b.Spec.GracefulEvictionTasks[i].SuppressDeletion = new(false)
		}
	case "suspend":
		b.Spec.Suspension = suspension(args[1:])
	case "resume":
		b.Spec.Suspension = nil
	case "scale":
		n, err := strconv.ParseInt(args[1], 10, 32)
		if err != nil {
			return err
		}
		b.Spec.Replicas, a.most = int32(n), max(a.most, int32(n))
		a.template = a.template.DeepCopy()
		a.template.Object["spec"].(map[string]any)["replicas"] = n //nolint:errcheck,forcetypeassert // it is a Deployment of ours
	}
	a.binding = b
	return nil
}

// suspension suspends dispatching to some clusters; to all if none is named.
func suspension(clusters []string) *workv1alpha2.Suspension {
	if len(clusters) == 0 {
		return &workv1alpha2.Suspension{Suspension: policyv1alpha1.Suspension{Dispatching: new(true)}}
	}
	return &workv1alpha2.Suspension{Suspension: policyv1alpha1.Suspension{DispatchingOnClusters: &policyv1alpha1.SuspendClusters{ClusterNames: clusters}}}
}
