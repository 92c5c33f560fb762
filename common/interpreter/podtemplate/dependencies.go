package podtemplate

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	configv1alpha1 "fairlead.dev/common/api/config/v1alpha1"
)

// defaultServiceAccount exists in every namespace of every cluster.
const defaultServiceAccount = "default"

// Dependencies returns the objects of its own namespace that a pod refers to, deduplicated and sorted by kind and
// name: ConfigMaps, Secrets, PersistentVolumeClaims and its ServiceAccount. Optional references count: where the
// object exists, the pod uses it.
func Dependencies(pod *corev1.PodSpec, namespace string) []configv1alpha1.DependentObjectReference {
	r := references{}
	r.pod(pod)
	out := make([]configv1alpha1.DependentObjectReference, 0, len(r))
	for ref := range r {
		out = append(out, configv1alpha1.DependentObjectReference{
			APIVersion: corev1.SchemeGroupVersion.String(), Kind: ref.kind, Namespace: namespace, Name: ref.name,
		})
	}
	slices.SortFunc(out, configv1alpha1.DependentObjectReference.Compare)
	return out
}

// reference names an object of the core group.
type reference struct{ kind, name string }

type references map[reference]struct{}

func (r references) add(kind, name string) {
	if name != "" {
		r[reference{kind, name}] = struct{}{}
	}
}

func (r references) configMap(name string) { r.add("ConfigMap", name) }
func (r references) secret(name string)    { r.add("Secret", name) }

func (r references) secretOf(ref *corev1.LocalObjectReference) {
	if ref != nil {
		r.secret(ref.Name)
	}
}

func (r references) pod(pod *corev1.PodSpec) {
	if pod.ServiceAccountName != defaultServiceAccount {
		r.add("ServiceAccount", pod.ServiceAccountName)
	}
	for _, ref := range pod.ImagePullSecrets {
		r.secret(ref.Name)
	}
	for i := range pod.InitContainers {
		r.environment(pod.InitContainers[i].Env, pod.InitContainers[i].EnvFrom)
	}
	for i := range pod.Containers {
		r.environment(pod.Containers[i].Env, pod.Containers[i].EnvFrom)
	}
	for i := range pod.EphemeralContainers {
		r.environment(pod.EphemeralContainers[i].Env, pod.EphemeralContainers[i].EnvFrom)
	}
	for i := range pod.Volumes {
		r.volume(&pod.Volumes[i])
	}
}

func (r references) environment(env []corev1.EnvVar, from []corev1.EnvFromSource) {
	for _, e := range env {
		if e.ValueFrom == nil {
			continue
		}
		if ref := e.ValueFrom.ConfigMapKeyRef; ref != nil {
			r.configMap(ref.Name)
		}
		if ref := e.ValueFrom.SecretKeyRef; ref != nil {
			r.secret(ref.Name)
		}
	}
	for _, source := range from {
		if source.ConfigMapRef != nil {
			r.configMap(source.ConfigMapRef.Name)
		}
		if source.SecretRef != nil {
			r.secret(source.SecretRef.Name)
		}
	}
}

func (r references) volume(v *corev1.Volume) {
	switch {
	case v.ConfigMap != nil:
		r.configMap(v.ConfigMap.Name)
	case v.Secret != nil:
		r.secret(v.Secret.SecretName)
	case v.PersistentVolumeClaim != nil:
		r.add("PersistentVolumeClaim", v.PersistentVolumeClaim.ClaimName)
	case v.Projected != nil:
		for _, source := range v.Projected.Sources {
			if source.ConfigMap != nil {
				r.configMap(source.ConfigMap.Name)
			}
			if source.Secret != nil {
				r.secret(source.Secret.Name)
			}
		}
	case v.AzureFile != nil:
		r.secret(v.AzureFile.SecretName)
	case v.CephFS != nil:
		r.secretOf(v.CephFS.SecretRef)
	case v.Cinder != nil:
		r.secretOf(v.Cinder.SecretRef)
	case v.FlexVolume != nil:
		r.secretOf(v.FlexVolume.SecretRef)
	case v.RBD != nil:
		r.secretOf(v.RBD.SecretRef)
	case v.ScaleIO != nil:
		r.secretOf(v.ScaleIO.SecretRef)
	case v.ISCSI != nil:
		r.secretOf(v.ISCSI.SecretRef)
	case v.StorageOS != nil:
		r.secretOf(v.StorageOS.SecretRef)
	case v.CSI != nil:
		r.secretOf(v.CSI.NodePublishSecretRef)
	}
}
