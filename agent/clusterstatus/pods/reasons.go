package pods

import (
	"cmp"
	"time"

	corev1 "k8s.io/api/core/v1"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/prose"
)

// settling is how long a pod may be starting before that counts as a reason.
const settling = time.Minute

// reasonNotReady is a reason of Fairlead: Kubernetes reports it for the pod, not for the container.
const reasonNotReady = "ContainerNotReady"

// reason is why one pod is not ready.
type reason struct {
	workv1alpha1.PodReason
	// from is when it starts to count; zero means at once.
	from time.Time
}

// reasonsOf returns why a pod is not ready; nothing if it is ready, has completed, or is being deleted.
func reasonsOf(pod *corev1.Pod) []reason {
	if pod.DeletionTimestamp != nil || pod.Status.Phase == corev1.PodSucceeded {
		return nil
	}
	var out []reason
	add := func(from time.Time, r workv1alpha1.PodReason) {
		r.Pod, r.Pods = pod.Name, 1
		r.Reason, r.Terminated = prose.Cut(r.Reason, maxReason), prose.Cut(r.Terminated, maxReason)
		r.Message = prose.Cut(r.Message, workv1alpha1.MaxPodMessage)
		out = append(out, reason{PodReason: r, from: from})
	}
	if pod.Status.Reason != "" { // Evicted, NodeLost and the like
		add(time.Time{}, workv1alpha1.PodReason{Reason: pod.Status.Reason, Message: pod.Status.Message})
	}
	for i := range pod.Status.Conditions {
		c := &pod.Status.Conditions[i]
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			add(time.Time{}, workv1alpha1.PodReason{Reason: cmp.Or(c.Reason, string(corev1.PodReasonUnschedulable)), Message: c.Message})
		}
	}
	for i := range pod.Status.InitContainerStatuses {
		if s := &pod.Status.InitContainerStatuses[i]; s.State.Running == nil { // a running init container does what it should
			addContainer(pod, s, add)
		}
	}
	for i := range pod.Status.ContainerStatuses {
		addContainer(pod, &pod.Status.ContainerStatuses[i], add)
	}
	return out
}

// maxReason bounds a reason, in bytes. Those of Kubernetes are single words.
const maxReason = 128

// addContainer adds why a container is not ready. Its termination message, which it wrote itself, is left out.
func addContainer(pod *corev1.Pod, s *corev1.ContainerStatus, add func(from time.Time, r workv1alpha1.PodReason)) {
	r := workv1alpha1.PodReason{Container: s.Name, Restarts: s.RestartCount}
	if last := s.LastTerminationState.Terminated; last != nil {
		r.Terminated, r.ExitCode = last.Reason, &last.ExitCode
	}
	var from time.Time
	switch now := s.State; {
	case now.Waiting != nil:
		r.Reason, r.Message = now.Waiting.Reason, now.Waiting.Message
		switch r.Reason {
		case "CrashLoopBackOff":
			r.Message = "" // the back-off time in the message changes each time
		case "ContainerCreating", "PodInitializing", "":
			r.Reason, from = cmp.Or(r.Reason, "ContainerCreating"), startOf(pod).Add(settling)
		}
	case now.Terminated != nil && (now.Terminated.ExitCode != 0 || pod.Status.Phase == corev1.PodFailed && now.Terminated.Reason != "Completed"):
		r.Reason = cmp.Or(now.Terminated.Reason, "Error")
		r.Terminated, r.ExitCode = now.Terminated.Reason, &now.Terminated.ExitCode
	case now.Running != nil && !s.Ready:
		r.Reason, from = reasonNotReady, now.Running.StartedAt.Add(settling)
	default:
		return
	}
	add(from, r)
}

// startOf returns since when a pod has been starting.
func startOf(pod *corev1.Pod) time.Time {
	if pod.Status.StartTime != nil {
		return pod.Status.StartTime.Time
	}
	return pod.CreationTimestamp.Time
}
