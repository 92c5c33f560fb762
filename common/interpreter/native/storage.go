package native

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

func persistentVolumeClaim() rules {
	return rules{
		retain: func(desired, live content) error {
			if liveSpec := contentAt(live, "spec"); text(liveSpec, "volumeName") != "" {
				take(own(desired, "spec"), liveSpec, "volumeName")
			}
			return nil
		},
		aggregate: func(template content, items []item) error {
			if len(items) > 0 {
				template["status"] = content{"phase": string(claimPhase(items))}
			}
			return nil
		},
		healthy: func(live content) bool {
			return text(contentAt(live, "status"), "phase") == string(corev1.ClaimBound)
		},
	}
}

// claimPhase is Bound if every claim is, Lost if one is, and otherwise the phase of the last one that is not Bound. A
// cluster that has not reported counts as Pending.
func claimPhase(items []item) corev1.PersistentVolumeClaimPhase {
	out := corev1.ClaimBound
	for _, it := range items {
		phase := corev1.PersistentVolumeClaimPhase(text(it.status, "phase"))
		switch phase {
		case corev1.ClaimLost:
			return corev1.ClaimLost
		case corev1.ClaimBound:
		case "":
			out = corev1.ClaimPending
		default:
			out = phase
		}
	}
	return out
}

func persistentVolume() rules {
	return rules{
		retain: func(desired, live content) error {
			take(own(desired, "spec"), contentAt(live, "spec"), "claimRef")
			return nil
		},
		aggregate: func(template content, items []item) error {
			for _, phase := range []corev1.PersistentVolumePhase{corev1.VolumeFailed, corev1.VolumePending, corev1.VolumeAvailable, corev1.VolumeBound, corev1.VolumeReleased} {
				if slices.ContainsFunc(items, func(it item) bool { return volumePhase(it) == phase }) {
					template["status"] = content{"phase": string(phase)}
					return nil
				}
			}
			return nil
		},
		dependencies: volumeDependencies,
		healthy:      volumeUsable,
	}
}

// volumeUsable returns whether a volume has a claim or is available for one. A released volume waits for somebody to
// decide about its content.
func volumeUsable(live content) bool {
	switch corev1.PersistentVolumePhase(text(contentAt(live, "status"), "phase")) {
	case corev1.VolumeAvailable, corev1.VolumeBound:
		return true
	default:
		return false
	}
}

// volumePhase returns the phase of a volume; Pending if it was not reported.
func volumePhase(it item) corev1.PersistentVolumePhase {
	if phase := text(it.status, "phase"); phase != "" {
		return corev1.PersistentVolumePhase(phase)
	}
	return corev1.VolumePending
}
