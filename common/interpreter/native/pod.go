package native

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/interpreter/podtemplate"
)

func pod() rules {
	return rules{
		replicas:     podReplicas,
		dependencies: podDependencies("Pod"),
		retain:       retainPod,
		aggregate:    aggregatePod,
		healthy: func(live content) bool {
			status := contentAt(live, "status")
			switch corev1.PodPhase(text(status, "phase")) {
			case corev1.PodSucceeded:
				return true
			case corev1.PodRunning:
				return holds(status, corev1.PodReady)
			default:
				return false
			}
		},
	}
}

func podReplicas(template content) (int32, *workv1alpha2.ReplicaRequirements, error) {
	spec, err := podtemplate.Read(contentAt(template, "spec"))
	if err != nil {
		return 0, nil, fmt.Errorf("at spec: %w", err)
	}
	return 1, podtemplate.Requirements(spec), nil
}

// retainPod retains what the member's scheduler and admission added. Fields that the template sets are kept: if they
// are immutable, the member reports that.
func retainPod(desired, live content) error {
	liveSpec := contentAt(live, "spec")
	spec := own(desired, "spec")
	for _, field := range []string{"nodeName", "serviceAccountName"} {
		if text(spec, field) == "" {
			take(spec, liveSpec, field)
		}
	}
	takeEntries(spec, liveSpec, "volumes", "name")
	for _, field := range []string{"containers", "initContainers"} {
		if containers, ok := spec[field].([]any); ok {
			spec[field] = mountedAs(containers, list(liveSpec, field))
		}
	}
	return nil
}

// takeEntries adds the entries that only live has to a list, in the order of live, since the API treats another order
// as a change.
func takeEntries(desired, live content, field, key string) {
	theirs, ours := list(live, field), list(desired, field)
	if len(theirs) == 0 {
		return
	}
	entry := func(of []content, name string) content {
		at := slices.IndexFunc(of, func(c content) bool { return text(c, key) == name })
		if at < 0 {
			return nil
		}
		return of[at]
	}
	out := make([]content, 0, len(theirs)+len(ours))
	for _, one := range theirs {
		if entry(out, text(one, key)) != nil {
			continue // no API server has two entries with the same key
		}
		if same := entry(ours, text(one, key)); same != nil {
			one = same
		}
		out = append(out, one)
	}
	for _, one := range ours {
		if entry(theirs, text(one, key)) == nil {
			out = append(out, one)
		}
	}
	setList(desired, field, out)
}

// mountedAs returns containers with the additional mounts of the live containers of the same name.
func mountedAs(containers []any, live []content) []any {
	out := slices.Clone(containers)
	for i := range out {
		container, ok := out[i].(content)
		if !ok {
			continue
		}
		if other := named(live, text(container, "name")); other != nil {
			container = maps.Clone(container)
			takeEntries(container, other, "volumeMounts", "mountPath")
			out[i] = container
		}
	}
	return out
}

// aggregatePod lists the containers of all clusters, and derives the overall phase from their phases.
func aggregatePod(template content, items []item) error {
	if len(items) == 0 {
		return nil
	}
	status := contentAt(template, "status")
	phases := map[corev1.PodPhase]bool{}
	for _, it := range items {
		phases[phaseOf(it)] = true
	}
	for _, phase := range []corev1.PodPhase{corev1.PodFailed, corev1.PodPending, corev1.PodRunning, corev1.PodSucceeded} {
		if phases[phase] {
			status["phase"] = string(phase)
			break
		}
	}
	for _, field := range []string{"containerStatuses", "initContainerStatuses"} {
		var all []content
		for _, it := range items {
			for _, c := range list(it.status, field) {
				brief, err := briefly(c)
				if err != nil {
					return fmt.Errorf("reading %s of cluster %q: %w", field, it.cluster, err)
				}
				all = append(all, brief)
			}
		}
		// The API server does not let a terminated container run again, unless the restart policy says so, and
		// compares the first container of a name.
		slices.SortStableFunc(all, func(a, b content) int { return cmp.Compare(rank(a), rank(b)) })
		setList(status, field, all)
	}
	return nil
}

// rank puts terminated containers first.
func rank(containerStatus content) int {
	if contentAt(containerStatus, "state", "terminated") != nil {
		return 0
	}
	return 1
}

func phaseOf(it item) corev1.PodPhase {
	if it.status == nil {
		return corev1.PodPending
	}
	return corev1.PodPhase(text(it.status, "phase"))
}

// briefly returns a container's status with only its name, readiness and state, in the form that the API server
// returns, so that a comparison finds no difference. Only the form of the state is not obvious.
func briefly(c content) (content, error) {
	var typed corev1.ContainerState
	if err := into(contentAt(c, "state"), &typed); err != nil {
		return nil, err
	}
	state, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&typed)
	if err != nil {
		return nil, fmt.Errorf("writing the state of container %q: %w", text(c, "name"), err)
	}
	ready, _ := c["ready"].(bool)
	return content{
		"name": text(c, "name"), "ready": ready, "state": state,
		"image": "", "imageID": "", "lastState": content{}, "restartCount": int64(0),
	}, nil
}
