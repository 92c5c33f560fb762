package manifest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"sigs.k8s.io/yaml"

	"fairlead.dev/common/contract"
)

// Name is that of all objects of an agent, and of the label by which they are found.
const Name = "fairlead-agent"

// Names of what belongs to it.
const (
	// NameLabel is on all of it; its value is Name.
	NameLabel = "app.kubernetes.io/name"
	// JoinSecret holds a join token for an agent that joins by itself.
	JoinSecret = Name + "-join"
	stateDir   = "/var/lib/fairlead/agent"
	// stateVolumeName is that of the volume of the state directory.
	stateVolumeName = "state"
	tokenDir        = "/var/run/fairlead/join"
	tokenKey        = "token"
)

// Where the state directory is, beside a path on the node.
const (
	// VolumeClaim is a volume of the cluster's default StorageClass.
	VolumeClaim = "claim"
	// VolumeNone is a directory that goes with the pod.
	VolumeNone = "none"
)

// claimSize is enough for the Works of a large cluster.
const claimSize = "1Gi"

// Options say what to run and what it may do.
type Options struct {
	// Image is that of the agent.
	Image string
	// Namespaces and Kinds (each RESOURCE or RESOURCE.GROUP) are all that the agent may
	// apply; none is all.
	Namespaces, Kinds []string
	// Proxy are the environment variables that name a proxy.
	Proxy map[string]string
	// State is what the agent is on the hub; nil if it joins by itself.
	State map[string][]byte
	// Token joins, with Arguments of `agent run`; empty if the agent has joined.
	Token string
	// Volume is where the state directory is, with the journal: VolumeClaim, VolumeNone, or a
	// path on the node (a directory that user 65532 may write); empty is VolumeNone.
	Volume string
	// Arguments of `agent run`, beside those that follow from the rest.
	Arguments []string
}

// Objects returns all that an agent consists of, in the order in which to apply it.
func Objects(o Options) []runtime.Object {
	out := []runtime.Object{
		&corev1.Namespace{TypeMeta: kind("v1", "Namespace"), ObjectMeta: metav1.ObjectMeta{Name: contract.SystemNamespace}},
		&corev1.ServiceAccount{TypeMeta: kind("v1", "ServiceAccount"), ObjectMeta: named(contract.SystemNamespace)},
	}
	rules := lookRules()
	if len(o.Namespaces) == 0 {
		rules = append(rules, applyRules(o.Kinds)...)
	}
	out = append(out,
		&rbacv1.ClusterRole{TypeMeta: kind(rbacv1.SchemeGroupVersion.String(), "ClusterRole"), ObjectMeta: named(""), Rules: rules},
		&rbacv1.ClusterRoleBinding{
			TypeMeta: kind(rbacv1.SchemeGroupVersion.String(), "ClusterRoleBinding"), ObjectMeta: named(""),
			RoleRef: reference("ClusterRole"), Subjects: subjects(),
		})
	for _, namespace := range o.Namespaces {
		if namespace != contract.SystemNamespace {
			out = append(out, role(namespace, applyRules(o.Kinds))...)
		}
	}
	own := stateRules(Name)
	if slices.Contains(o.Namespaces, contract.SystemNamespace) {
		own = append(own, applyRules(o.Kinds)...)
	}
	out = append(out, role(contract.SystemNamespace, own)...)
	// Without data, a Secret that has some keeps it.
	out = append(out, &corev1.Secret{TypeMeta: kind("v1", "Secret"), ObjectMeta: named(contract.SystemNamespace), Data: o.State})
	if o.Token != "" {
		meta := named(contract.SystemNamespace)
		meta.Name = JoinSecret
		out = append(out, &corev1.Secret{TypeMeta: kind("v1", "Secret"), ObjectMeta: meta, Data: map[string][]byte{tokenKey: []byte(o.Token)}})
	}
	if o.Volume == VolumeClaim {
		out = append(out, claim())
	}
	return append(out, deployment(o))
}

// YAML returns objects as kubectl reads them.
func YAML(objects []runtime.Object) ([]byte, error) {
	var out bytes.Buffer
	for i, obj := range objects {
		u, err := Unstructured(obj)
		if err != nil {
			return nil, err
		}
		text, err := yaml.Marshal(u.Object)
		if err != nil {
			return nil, fmt.Errorf("encoding %s: %w", u.GetKind(), err)
		}
		if i > 0 {
			out.WriteString("---\n")
		}
		out.Write(text)
	}
	return out.Bytes(), nil
}

// Unstructured returns an object without the fields that only a server sets.
func Unstructured(obj runtime.Object) (*unstructured.Unstructured, error) {
	raw, err := json.Marshal(obj)
	if err != nil {
		return nil, fmt.Errorf("encoding an object: %w", err)
	}
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(raw); err != nil {
		return nil, fmt.Errorf("encoding an object: %w", err)
	}
	unstructured.RemoveNestedField(u.Object, "status")
	unstructured.RemoveNestedField(u.Object, "metadata", "creationTimestamp")
	unstructured.RemoveNestedField(u.Object, "spec", "template", "metadata", "creationTimestamp")
	return u, nil
}

func role(namespace string, rules []rbacv1.PolicyRule) []runtime.Object {
	return []runtime.Object{
		&rbacv1.Role{TypeMeta: kind(rbacv1.SchemeGroupVersion.String(), "Role"), ObjectMeta: named(namespace), Rules: rules},
		&rbacv1.RoleBinding{
			TypeMeta: kind(rbacv1.SchemeGroupVersion.String(), "RoleBinding"), ObjectMeta: named(namespace),
			RoleRef: reference("Role"), Subjects: subjects(),
		},
	}
}

func deployment(o Options) *appsv1.Deployment {
	labels := map[string]string{NameLabel: Name}
	container := corev1.Container{
		Name: "agent", Image: o.Image,
		Args: append([]string{"run", "--state-dir", stateDir, "--state-secret", contract.SystemNamespace + "/" + Name}, o.Arguments...),
		Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse("10m"), corev1.ResourceMemory: resource.MustParse("64Mi"),
		}},
		SecurityContext: &corev1.SecurityContext{
			AllowPrivilegeEscalation: new(false), ReadOnlyRootFilesystem: new(true),
			Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		},
		VolumeMounts: []corev1.VolumeMount{{Name: stateVolumeName, MountPath: stateDir}},
	}
	volumes := []corev1.Volume{{Name: stateVolumeName, VolumeSource: stateVolume(o.Volume)}}
	if o.Token != "" {
		container.Args = append(container.Args, "--token-file", tokenDir+"/"+tokenKey)
		container.VolumeMounts = append(container.VolumeMounts, corev1.VolumeMount{Name: "join", MountPath: tokenDir, ReadOnly: true})
		volumes = append(volumes, corev1.Volume{Name: "join", VolumeSource: corev1.VolumeSource{
			Secret: &corev1.SecretVolumeSource{SecretName: JoinSecret, Optional: new(true)},
		}})
	}
	if len(o.Namespaces) > 0 {
		container.Args = append(container.Args, "--namespaces", strings.Join(o.Namespaces, ","))
	}
	if len(o.Kinds) > 0 && len(o.Namespaces) == 0 { // an agent that is confined calls no address that the hub names
		container.Args = append(container.Args, "--interpreter-webhooks=false")
	}
	for _, name := range slices.Sorted(maps.Keys(o.Proxy)) {
		container.Env = append(container.Env, corev1.EnvVar{Name: name, Value: o.Proxy[name]})
	}
	const nobody = 65532
	return &appsv1.Deployment{
		TypeMeta: kind(appsv1.SchemeGroupVersion.String(), "Deployment"), ObjectMeta: named(contract.SystemNamespace),
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(1)),
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			// Two agents at once would pass for a member that was cloned.
			Strategy: appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					ServiceAccountName: Name,
					SecurityContext: &corev1.PodSecurityContext{
						RunAsNonRoot: new(true), RunAsUser: new(int64(nobody)), FSGroup: new(int64(nobody)),
						SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
					},
					Containers: []corev1.Container{container},
					Volumes:    volumes,
				},
			},
		},
	}
}

// StateVolume returns where a Deployment of an agent has the state directory, as Options say
// it. It says false if they cannot.
func StateVolume(d *appsv1.Deployment) (where string, ok bool) {
	i := slices.IndexFunc(d.Spec.Template.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == stateVolumeName })
	if i < 0 {
		return "", false
	}
	switch v := d.Spec.Template.Spec.Volumes[i]; {
	case v.EmptyDir != nil:
		return VolumeNone, true
	case v.PersistentVolumeClaim != nil && v.PersistentVolumeClaim.ClaimName == Name:
		return VolumeClaim, true
	case v.HostPath != nil:
		return v.HostPath.Path, true
	default:
		return "", false
	}
}

// stateVolume is where the state directory is.
func stateVolume(where string) corev1.VolumeSource {
	switch where {
	case "", VolumeNone:
		return corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}
	case VolumeClaim:
		return corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: Name}}
	default:
		return corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: where, Type: new(corev1.HostPathDirectory)}}
	}
}

// claim is the volume for the state directory.
func claim() *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{
		TypeMeta: kind("v1", "PersistentVolumeClaim"), ObjectMeta: named(contract.SystemNamespace),
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(claimSize)}},
		},
	}
}

func kind(version, name string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: version, Kind: name}
}

func named(namespace string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: Name, Labels: map[string]string{NameLabel: Name}}
}

func reference(role string) rbacv1.RoleRef {
	return rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: role, Name: Name}
}

func subjects() []rbacv1.Subject {
	return []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: contract.SystemNamespace, Name: Name}}
}
