package manifest

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"sigs.k8s.io/yaml"

	"fairlead.dev/agent/install/chart"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/version"
	"fairlead.dev/manifests/charts"
)

// Name is the name of the agent's main objects, and the value of the label on all of them.
const Name = contract.AgentName

// GuardName is the name of the objects that upgrade the agent: a Deployment that runs only during upgrades, with a
// ServiceAccount of its own, since the agent may not change its own image.
const GuardName = Name + "-guard"

// Names of the agent's objects, as in the chart.
const (
	// NameLabel is the label on all of the agent's objects; its value is Name.
	NameLabel = "app.kubernetes.io/name"
	// JoinSecret holds a join token for an agent that joins by itself.
	JoinSecret = Name + "-join"
	// stateVolumeName is the volume of the state directory.
	stateVolumeName = "state"
)

// Values for the place of the state directory, besides a path on the node.
const (
	// VolumeClaim is a volume of the cluster's default StorageClass.
	VolumeClaim = "claim"
	// VolumeNone is a directory that is lost with the pod.
	VolumeNone = "none"
	// volumeHostPath is the chart's word for a path on the node.
	volumeHostPath = "hostPath"
)

// Options configure an agent and its rights.
type Options struct {
	// Image is the agent's image; empty is the chart's, with this program's version.
	Image string
	// UpgradeImages are the repositories from which the hub may choose another image; if empty, the hub may not
	// upgrade the agent.
	UpgradeImages []string
	// Namespaces and Kinds (each RESOURCE or RESOURCE.GROUP) confine what the agent may apply; empty means all.
	Namespaces, Kinds []string
	// SafeKinds are those of Kinds that are declared to run no pods and grant no rights. Other kinds that are not
	// known to be harmless are refused in the agent's own namespace.
	SafeKinds []string
	// Account is the ServiceAccount of each namespace as which the agent applies objects there; empty means as
	// itself.
	Account string
	// Proxy are the environment variables that configure a proxy.
	Proxy map[string]string
	// State is the content of the agent's Secret; nil if the agent joins by itself.
	State map[string][]byte
	// JoinHash identifies the join that State belongs to. Another join restarts a running agent, which then begins
	// with State.
	JoinHash string
	// Join configures an agent that joins by itself; nil if it has joined.
	Join *Join
	// Volume is where the state directory with the journal is: VolumeClaim, VolumeNone, or a path on the node (a
	// directory that user 65532 may write); empty is VolumeClaim.
	Volume string
	// PriorityClass is that of the pod; nil is the chart's, empty is none.
	PriorityClass *string
	// Pod says how its pods run.
	Pod Pod
	// Operators say what operators of the hub may do in the member.
	Operators Operators
}

// Join configures an agent that joins by itself.
type Join struct {
	// Addresses are the hub's, each HOST:PORT, and Hashes pin its certificate authority.
	Addresses, Hashes []string
	// SkipCA allows a join without a hash.
	SkipCA bool
	// Cluster is the member's name on the hub and Token a join token. OnRetire is what happens to the objects if the
	// hub forgets the member; empty is the default.
	Cluster, Token, OnRetire string
}

// Objects returns all objects of an agent, in the order in which to apply them.
func Objects(o Options) ([]*unstructured.Unstructured, error) {
	files, err := charts.Agent()
	if err != nil {
		return nil, fmt.Errorf("reading the chart in this program: %w", err)
	}
	release := chart.Release{Name: Name, Namespace: contract.SystemNamespace, AppVersion: version.Of().ImageTag}
	objects, err := chart.Render(files, release, Values(o))
	if err != nil {
		return nil, err
	}
	// The namespace comes first, and the Deployment last, since it needs the rest.
	slices.SortStableFunc(objects, func(a, b *unstructured.Unstructured) int { return turn(a) - turn(b) })
	for _, obj := range objects {
		// A Secret without data keeps the data that it has.
		if HasState(obj) && o.State != nil {
			SetState(obj, o.State)
		}
	}
	return objects, nil
}

// Refusal returns why the chart refuses options and, after a colon, what to do; empty if it does not.
func Refusal(o Options) string {
	_, err := Objects(o)
	if refused, ok := errors.AsType[*chart.RefusedError](err); ok {
		return refused.Error()
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

// HasState returns whether an object is the Secret with the agent's state.
func HasState(obj *unstructured.Unstructured) bool {
	return obj.GetKind() == "Secret" && obj.GetName() == Name
}

// SetState sets the data of that Secret.
func SetState(secret *unstructured.Unstructured, state map[string][]byte) {
	secret.Object["data"] = encoded(state)
}

// turn returns the position of an object in the order: first, last, or between.
func turn(obj *unstructured.Unstructured) int {
	switch obj.GetKind() {
	case "Namespace":
		return -1
	case "Deployment":
		if obj.GetName() == Name {
			return 2
		}
		return 1
	default:
		return 0
	}
}

func encoded(data map[string][]byte) map[string]any {
	out := make(map[string]any, len(data))
	for key, value := range data {
		out[key] = base64.StdEncoding.EncodeToString(value)
	}
	return out
}

// Values returns the chart's values for the options.
func Values(o Options) map[string]any {
	out := map[string]any{
		"createNamespace": true,
		"namespaces":      list(o.Namespaces),
		"kinds":           list(o.Kinds),
		"safeKinds":       list(o.SafeKinds),
		"state":           state(o.Volume),
		"upgrades":        map[string]any{"enabled": len(o.UpgradeImages) > 0, "repositories": list(o.UpgradeImages)},
		"join":            map[string]any{"joined": true},
	}
	if o.Image != "" {
		out["image"] = image(o.Image)
	}
	if o.PriorityClass != nil {
		out["priorityClassName"] = *o.PriorityClass
	}
	if o.Account != "" {
		out["asServiceAccount"] = o.Account
	}
	if o.JoinHash != "" {
		out["podAnnotations"] = map[string]any{contract.AgentJoinAnnotation: o.JoinHash}
	}
	if len(o.Operators.Who) > 0 {
		out["operators"] = o.Operators.values()
	}
	if len(o.Proxy) > 0 {
		env := make(map[string]any, len(o.Proxy))
		for name, value := range o.Proxy {
			env[name] = value
		}
		out["env"] = env
	}
	if j := o.Join; j != nil {
		out["join"] = map[string]any{"token": j.Token}
		out["clusterName"] = j.Cluster
		out["onRetire"] = j.OnRetire
		out["hub"] = map[string]any{"addresses": list(j.Addresses), "caCertHashes": list(j.Hashes), "unsafeSkipCAVerification": j.SkipCA}
	}
	o.Pod.addTo(out)
	return out
}

// list converts a list for templates.
func list(texts []string) []any {
	out := make([]any, 0, len(texts))
	for _, text := range texts {
		out = append(out, text)
	}
	return out
}

func state(volume string) map[string]any {
	switch volume {
	case "", VolumeClaim, VolumeNone:
		if volume == "" {
			volume = VolumeClaim
		}
		return map[string]any{"volume": volume}
	default:
		return map[string]any{"volume": volumeHostPath, "hostPath": volume}
	}
}

// image splits the name of an image; the chart joins it again.
func image(name string) map[string]any {
	out := map[string]any{"registry": "", "tag": "", "digest": ""}
	name, digest, _ := strings.Cut(name, "@")
	if digest != "" {
		out["digest"] = digest
	}
	if colon := strings.LastIndex(name, ":"); colon > strings.LastIndex(name, "/") {
		out["tag"], name = name[colon+1:], name[:colon]
	} else if digest == "" {
		out["tag"] = "latest" // the default for a name without a tag
	}
	if host, rest, found := strings.Cut(name, "/"); found && (strings.ContainsAny(host, ".:") || host == "localhost") {
		out["registry"], name = host, rest
	}
	out["repository"] = name
	return out
}

// YAML encodes objects for kubectl.
func YAML(objects []*unstructured.Unstructured) ([]byte, error) {
	var out bytes.Buffer
	for i, obj := range objects {
		text, err := yaml.Marshal(obj.Object)
		if err != nil {
			return nil, fmt.Errorf("encoding %s: %w", obj.GetKind(), err)
		}
		if i > 0 {
			out.WriteString("---\n")
		}
		out.Write(text)
	}
	return out.Bytes(), nil
}

// StateVolume returns where a Deployment of an agent has its state directory, in the form of Options.Volume. It
// returns false if that cannot be expressed.
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
