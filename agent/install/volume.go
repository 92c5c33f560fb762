package install

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/agent/install/manifest"
	"fairlead.dev/common/contract"
)

// defaultClass marks the StorageClass for claims that name none.
const defaultClass = "storageclass.kubernetes.io/is-default-class"

// advice follows the reason why an agent keeps its state in its pod.
const advice = "the journal of its Works is lost with the agent's pod. --state-volume with a directory on the node keeps it"

// StateVolume returns where an agent keeps its state by default: where the installed agent keeps it, or on a claimed
// volume if the member can provision one, since an agent whose journal is lost with its pod enforces nothing while
// the hub is away, and removes nothing when it is retired. If the result is no volume, why is a sentence with the
// reason and the advice.
func (i *Installer) StateVolume(ctx context.Context) (volume, why string, err error) {
	deployment := &appsv1.Deployment{}
	err = i.memberClient.Get(ctx, client.ObjectKey{Namespace: contract.SystemNamespace, Name: manifest.Name}, deployment)
	switch {
	case apierrors.IsNotFound(err):
		volume, why = i.defaultVolume(ctx)
		return volume, why, nil
	case err != nil:
		return "", "", fmt.Errorf("reading where the installed agent keeps its state: %w; give --state-volume", err)
	}
	volume, ok := manifest.StateVolume(deployment)
	switch {
	case !ok:
		return "", "", fmt.Errorf("the volume \"state\" of Deployment %s/%s is of a kind that this command does not make; give --state-volume to replace it", deployment.Namespace, deployment.Name)
	case volume == manifest.VolumeNone:
		return volume, "The installed agent keeps its state in its pod, and this does not change: " + advice, nil
	default:
		return volume, "", nil
	}
}

// Place is where an agent may keep state outside its Secret.
type Place struct {
	// Is describes the place, for a sentence about the agent.
	Is string
	// Release is the command with which a person confirms that nothing is there.
	Release string
}

// StatePlace returns where an installed agent may have state outside its Secret; nil if no such place outlasts its
// pod. A claim that is being deleted has been given up.
func (i *Installer) StatePlace(ctx context.Context) (*Place, error) {
	key := client.ObjectKey{Namespace: contract.SystemNamespace, Name: manifest.Name}
	claim := &corev1.PersistentVolumeClaim{}
	err := i.memberClient.Get(ctx, key, claim)
	switch {
	case client.IgnoreNotFound(err) != nil:
		return nil, fmt.Errorf("looking whether the agent has a volume: %w", err)
	case err == nil && claim.DeletionTimestamp.IsZero():
		return &Place{Is: "volume", Release: "kubectl delete persistentvolumeclaim -n " + key.Namespace + " " + key.Name}, nil
	}
	deployment := &appsv1.Deployment{}
	if err := i.memberClient.Get(ctx, key, deployment); err != nil {
		if apierrors.IsNotFound(err) {
			return nil, nil //nolint:nilnil // That there is none is an answer.
		}
		return nil, fmt.Errorf("reading where the agent has its state: %w", err)
	}
	release := "kubectl delete deployment -n " + key.Namespace + " " + key.Name
	switch volume, ok := manifest.StateVolume(deployment); {
	case !ok:
		return &Place{Is: "volume \"state\"", Release: release}, nil
	case volume == manifest.VolumeNone, volume == manifest.VolumeClaim: // the claim was deleted
		return nil, nil //nolint:nilnil // As above.
	default:
		return &Place{Is: "directory " + volume + " on its node", Release: release}, nil
	}
}

// defaultVolume returns where a newly installed agent keeps its state, and the reason if that is no volume.
func (i *Installer) defaultVolume(ctx context.Context) (volume, why string) {
	var classes storagev1.StorageClassList
	if err := i.memberClient.List(ctx, &classes); err != nil {
		return manifest.VolumeNone, fmt.Sprintf("Could not find out whether this cluster has a default StorageClass (%v), so %s", err, advice)
	}
	for c := range classes.Items {
		if classes.Items[c].Annotations[defaultClass] == "true" {
			return manifest.VolumeClaim, ""
		}
	}
	return manifest.VolumeNone, "This cluster has no default StorageClass, so " + advice
}
