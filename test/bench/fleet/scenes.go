package main

import (
	"context"
	"errors"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// scene is an event to measure.
type scene struct {
	name string
	// what describes it.
	what string
	// always means that the other scenes depend on it.
	always bool
	// apart means that it runs only on request, because it takes long.
	apart bool
	// profiles means that it starts its own profiles, because it restarts the processes.
	profiles bool
	play     func(*system, context.Context, size, *sheet) error
}

// put reports a figure.
type put func(what string, value float64, unit string)

func scenes() []scene {
	return []scene{
		{name: "grow", what: "agents join and applications come", always: true, play: (*system).growing},
		{name: "idle", what: "nothing happens", play: (*system).idling},
		{name: "change", what: "single templates change, one after the other", play: (*system).changing},
		{name: "roomier", what: "clusters have more room, one after the other", play: (*system).roomier},
		{name: "wide", what: "one application goes to all clusters", play: (*system).wide},
		{name: "restart", what: "the hub is killed with its API, and starts again", profiles: true, play: (*system).restart},
		{name: "region", what: "a quarter of the clusters falls silent, and comes back when its applications run elsewhere", play: (*system).region},
		{name: "policy", what: "the policy that selects all applications is edited, so that nothing moves", play: (*system).policy},
		{name: "rollout", what: "one application is rolled out in waves", apart: true, play: (*system).rollout},
	}
}

func sceneNames() []string {
	var out []string
	for _, s := range scenes() {
		if !s.always {
			out = append(out, s.name)
		}
	}
	return out
}

// usualScenes are the default scenes.
func usualScenes() []string {
	return slices.DeleteFunc(sceneNames(), func(name string) bool {
		return slices.ContainsFunc(scenes(), func(s scene) bool { return s.name == name && s.apart })
	})
}

// play plays a scene, with profiles if wanted.
func (s *system) play(ctx context.Context, scene scene, at size, out *report) error {
	progress("%s: %s", scene.name, at)
	sheet := out.sheet(scene)
	if scene.profiles {
		return scene.play(s, ctx, at, sheet)
	}
	profiles, err := s.profile(ctx, scene.name, at)
	if err != nil {
		return err
	}
	err = scene.play(s, ctx, at, sheet)
	return errors.Join(err, profiles.end(ctx, sheet))
}

// growing adds clusters and applications.
func (s *system) growing(ctx context.Context, at size, out *sheet) error {
	more := float64(at.bindings - s.has.bindings)
	if _, err := s.awaitQuiet(ctx); err != nil {
		return err
	}
	u, err := s.untilQuiet(ctx, func() error { return s.grow(ctx, at) })
	if err != nil {
		return err
	}
	out.tell("time for each application that came", 1000*u.seconds/more, "ms")
	out.account("", "application", u, more)
	return nil
}

// idling measures the idle system.
func (s *system) idling(ctx context.Context, at size, out *sheet) error {
	if _, err := s.awaitQuiet(ctx); err != nil {
		return err
	}
	u, err := s.rest(ctx, s.idle)
	if err != nil {
		return err
	}
	together := (u.cpu(hubProcess) + u.cpu(apiProcess)) / u.seconds
	out.tell("hub and API server together", together, "cores")
	s.promised("idle", at, middling(), "hub and API server together", together, mostIdleCores, "cores")
	for _, name := range processNames() {
		out.tell(name+" CPU", u.cpu(name)/u.seconds, "cores")
	}
	out.memory("", u)
	live, err := s.profiledHub().Live(ctx)
	if err != nil {
		return err
	}
	out.tell("hub's heap, of which nothing is garbage", live.Heap/1e6, "MB")
	out.tell("agents to hub", float64(u.agents.Sent)/u.seconds/1000, "kB/s")
	out.tell("hub's API to agents", float64(u.agents.Received)/u.seconds/1000, "kB/s")
	hour := time.Hour.Seconds() / u.seconds / float64(at.agents)
	out.tell("to and from one agent in an hour", float64(u.agents.Sent+u.agents.Received)*hour/1000, "kB")
	out.tell("hub reads", float64(u.processes[hubProcess].ReadBytes)/u.seconds/1000, "kB/s")
	out.tell("hub writes", float64(u.processes[hubProcess].WrittenBytes)/u.seconds/1000, "kB/s")
	out.tell("hub asks agents over lines", float64(u.agents.Asked)/u.seconds, "/s")
	out.conflicts("", u)
	out.requested("", "second", u, u.seconds)
	return nil
}

// rest returns the usage of the idle system.
func (s *system) rest(ctx context.Context, length time.Duration) (used, error) {
	before, err := s.now(ctx)
	if err != nil {
		return used{}, err
	}
	if err := pause(ctx, length); err != nil {
		return used{}, err
	}
	after, err := s.now(ctx)
	return since(before, after), err
}

// roomier gives one cluster more capacity, often enough that one garbage collection, which takes the hub a third of a
// second, does not dominate the result.
func (s *system) roomier(ctx context.Context, at size, out *sheet) error {
	tries := min(at.agents, 20)
	const every = time.Second / 2
	// As long as the measurement itself, because each reading costs the API server processor time.
	idle, err := s.rest(ctx, time.Duration(tries)*every+look)
	if err != nil {
		return err
	}
	u, err := s.untilQuiet(ctx, func() error {
		for i := range tries {
			s.agents.SetRoom(clusterName(i), corev1.ResourceList{
				corev1.ResourceCPU: *resource.NewQuantity(int64(1100+at.bindings%97+i), resource.DecimalSI), corev1.ResourceMemory: resource.MustParse("5Ti"),
				corev1.ResourcePods: resource.MustParse("11k"),
			})
			if err := pause(ctx, every); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	n := float64(tries)
	for _, name := range []string{hubProcess, apiProcess} {
		more := max(0, 1000*(u.cpu(name)-idle.cpu(name)/idle.seconds*u.seconds)/n)
		out.tell(name+" CPU for one cluster, beside what is used when nothing happens", more, "ms")
		if name == hubProcess {
			s.promised("roomier", at, full(), "hub CPU for one cluster", more, mostRoomierCPU, "ms")
		}
	}
	out.account("", "cluster", u, n)
	return nil
}

// untilQuiet runs do, and returns the usage until the system is quiet again.
func (s *system) untilQuiet(ctx context.Context, do func() error) (used, error) {
	before, err := s.now(ctx)
	if err != nil {
		return used{}, err
	}
	if err := do(); err != nil {
		return used{}, err
	}
	after, err := s.awaitQuiet(ctx)
	return since(before, after), err
}
