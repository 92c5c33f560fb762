package owned

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Pod is a pod as people see it.
type Pod struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	UID       string `json:"uid"`
	// Ready is how many of its containers are ready; init containers do not count.
	Ready int `json:"ready"`
	// State is the text that kubectl shows as STATUS: the phase, or the reason why the pod is stuck.
	State string `json:"state"`
	// Whole says that all of its containers are ready, or that it has completed.
	Whole    bool   `json:"whole"`
	Restarts int32  `json:"restarts"`
	Node     string `json:"node,omitempty"`
	IP       string `json:"ip,omitempty"`
	// Created is when it was created.
	Created time.Time `json:"created"`
	// Default is its default container.
	Default string `json:"defaultContainer,omitempty"`
	// Containers are all containers in order, init containers first.
	Containers []Container `json:"containers"`
}

// Container is one container of a pod.
type Container struct {
	Name string `json:"name"`
	// Init says that it is an init container or a sidecar.
	Init bool `json:"init,omitempty"`
	// Ephemeral says that it is an ephemeral debug container.
	Ephemeral bool  `json:"ephemeral,omitempty"`
	Restarts  int32 `json:"restarts,omitempty"`
	Running   bool  `json:"running,omitempty"`
	// Begun says that it has been started, and so has a log.
	Begun bool `json:"begun,omitempty"`
}

// defaultContainer is the annotation that names the default container.
const defaultContainer = "kubectl.kubernetes.io/default-container"

// Of returns a pod as people see it.
func Of(p *Object) Pod {
	out := Pod{
		Namespace: p.Namespace, Name: p.Name, UID: string(p.UID), Node: p.Spec.NodeName, IP: p.Status.PodIP,
		Created: p.CreationTimestamp.Time, State: stateOf(p),
	}
	statuses := map[string]*ContainerStatus{}
	for _, list := range [][]ContainerStatus{p.Status.InitContainerStatuses, p.Status.ContainerStatuses, p.Status.EphemeralContainerStatuses} {
		for i := range list {
			statuses[list[i].Name] = &list[i]
		}
	}
	add := func(c Container) {
		if s := statuses[c.Name]; s != nil {
			c.Restarts, c.Running = s.RestartCount, s.State.Running != nil
			c.Begun = c.Running || s.State.Terminated != nil || s.LastTerminationState.Terminated != nil
			out.Restarts += s.RestartCount
		}
		out.Containers = append(out.Containers, c)
	}
	for i := range p.Spec.InitContainers {
		add(Container{Name: p.Spec.InitContainers[i].Name, Init: true})
	}
	for i := range p.Spec.Containers {
		name := p.Spec.Containers[i].Name
		add(Container{Name: name})
		if out.Default == "" || name == p.Annotations[defaultContainer] {
			out.Default = name
		}
		if s := statuses[name]; s != nil && s.Ready {
			out.Ready++
		}
	}
	for i := range p.Spec.EphemeralContainers {
		add(Container{Name: p.Spec.EphemeralContainers[i].Name, Ephemeral: true})
	}
	out.Whole = p.Status.Phase == corev1.PodSucceeded || p.DeletionTimestamp == nil && out.Ready == len(p.Spec.Containers) && out.Ready > 0
	return out
}

// Main is how many containers Ready is out of.
func (p *Pod) Main() int {
	n := 0
	for _, c := range p.Containers {
		if !c.Init && !c.Ephemeral {
			n++
		}
	}
	return n
}

// Container returns the container of a name.
func (p *Pod) Container(name string) (Container, bool) {
	for _, c := range p.Containers {
		if c.Name == name {
			return c, true
		}
	}
	return Container{}, false
}

// stateOf returns the state of a pod in a word, like kubectl.
func stateOf(p *Object) string {
	state := string(p.Status.Phase)
	if p.Status.Reason != "" {
		state = p.Status.Reason
	}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Reason == corev1.PodReasonSchedulingGated {
			state = c.Reason
		}
	}
	if early, beginning := beginningOf(p); beginning {
		state = early
	} else {
		state = runningOf(p, state)
	}
	if p.DeletionTimestamp != nil && p.Status.Phase != corev1.PodFailed && p.Status.Phase != corev1.PodSucceeded {
		return "Terminating"
	}
	return state
}

// beginningOf returns the state of the init containers, and whether one of them is not done.
func beginningOf(p *Object) (state string, beginning bool) {
	always := map[string]bool{}
	for i := range p.Spec.InitContainers {
		c := &p.Spec.InitContainers[i]
		always[c.Name] = c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
	}
	for i := range p.Status.InitContainerStatuses {
		s := &p.Status.InitContainerStatuses[i]
		switch {
		case s.State.Terminated != nil && s.State.Terminated.ExitCode == 0:
			continue
		case always[s.Name] && s.Started != nil && *s.Started:
			continue
		case s.State.Terminated != nil:
			return "Init:" + ended(s.State.Terminated), true
		case s.State.Waiting != nil && s.State.Waiting.Reason != "" && s.State.Waiting.Reason != "PodInitializing":
			return "Init:" + s.State.Waiting.Reason, true
		default:
			return fmt.Sprintf("Init:%d/%d", i, len(p.Spec.InitContainers)), true
		}
	}
	return "", false
}

// runningOf returns the state of the containers; the given state if all are well.
func runningOf(p *Object, state string) string {
	running := false
	for i := len(p.Status.ContainerStatuses) - 1; i >= 0; i-- {
		s := &p.Status.ContainerStatuses[i]
		switch {
		case s.State.Waiting != nil && s.State.Waiting.Reason != "":
			state = s.State.Waiting.Reason
		case s.State.Terminated != nil:
			state = ended(s.State.Terminated)
		case s.Ready && s.State.Running != nil:
			running = true
		}
	}
	if state == "Completed" && running {
		return "Running"
	}
	return state
}

// ended says in a word how a container ended.
func ended(t *corev1.ContainerStateTerminated) string {
	switch {
	case t.Reason != "":
		return t.Reason
	case t.Signal != 0:
		return fmt.Sprintf("Signal:%d", t.Signal)
	default:
		return fmt.Sprintf("ExitCode:%d", t.ExitCode)
	}
}
