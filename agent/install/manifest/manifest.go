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

// Name is that of all objects of an agent, and of the label by which they are found.
const Name = contract.AgentName

// GuardName is that of the objects by which an agent is upgraded: a Deployment that runs during
// upgrades only, with a service account of its own, since the agent may not change its own image.
const GuardName = Name + "-guard"

// Names of what belongs to it, as the chart has them.
const (
	// NameLabel is on all of it; its value is Name.
	NameLabel = "app.kubernetes.io/name"
	// JoinSecret holds a join token for an agent that joins by itself.
	JoinSecret = Name + "-join"
	// stateVolumeName is that of the volume of the state directory.
	stateVolumeName = "state"
)

// Where the state directory is, beside a path on the node.
const (
	// VolumeClaim is a volume of the cluster's default StorageClass.
	VolumeClaim = "claim"
	// VolumeNone is a directory that goes with the pod.
	VolumeNone = "none"
	// volumeHostPath is what the chart calls a path on the node.
	volumeHostPath = "hostPath"
)

// Options say what to run and what it may do.
type Options struct {
	// Image is that of the agent; empty is the chart's, of this program's version.
	Image string
	// UpgradeImages are the repositories of which the hub may have it run another image; without
	// any, it may not.
	UpgradeImages []string
	// Namespaces and Kinds (each RESOURCE or RESOURCE.GROUP) are all that the agent may
	// apply; none is all.
	Namespaces, Kinds []string
	// SafeKinds are those of the Kinds of which is said that they run no pods and give no rights: others that are not known to do
	// neither are refused beside the agent itself.
	SafeKinds []string
	// Account is the ServiceAccount of each namespace as which the agent applies what is in there;
	// empty is as itself.
	Account string
	// Proxy are the environment variables that name a proxy.
	Proxy map[string]string
	// State is what the agent is on the hub; nil if it joins by itself.
	State map[string][]byte
	// JoinHash says of which join State is: another one has a running agent made anew, which begins with State.
	JoinHash string
	// Join says how the agent joins by itself; nil if it has joined.
	Join *Join
	// Volume is where the state directory is, with the journal: VolumeClaim, VolumeNone, or a
	// path on the node (a directory that user 65532 may write); empty is VolumeClaim.
	Volume string
	// PriorityClass of the pod; nil is the chart's, empty is none.
	PriorityClass *string
	// Operators say what operators of the hub may do in the member.
	Operators Operators
}

// Join is how an agent joins by itself.
type Join struct {
	// Addresses of the hub, each HOST:PORT, and the hashes of its certificate authority.
	Addresses, Hashes []string
	// SkipCA says to join without a hash.
	SkipCA bool
	// Cluster is the member's name on the hub, Token a join token, OnRetire what becomes of objects if the hub
	// forgets the member, empty for what holds if nothing is said.
	Cluster, Token, OnRetire string
}

// Objects returns all that an agent consists of, in the order in which to apply it.
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
	// The rest is in the namespace; the Deployment needs the rest.
	slices.SortStableFunc(objects, func(a, b *unstructured.Unstructured) int { return turn(a) - turn(b) })
	for _, obj := range objects {
		// Without data, a Secret that has some keeps it.
		if HasState(obj) && o.State != nil {
			SetState(obj, o.State)
		}
	}
	return objects, nil
}

// Refusal says what about options the chart refuses, and after a colon what to do; empty if nothing.
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

// HasState says whether an object is the Secret that has what the agent is on the hub.
func HasState(obj *unstructured.Unstructured) bool {
	return obj.GetKind() == "Secret" && obj.GetName() == Name
}

// SetState has that Secret have a state.
func SetState(secret *unstructured.Unstructured, state map[string][]byte) {
	secret.Object["data"] = encoded(state)
}

// turn is when an object is applied: first, last, or between.
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

// Values returns those of the chart that options are.
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
	return out
}

// list is one as templates take it.
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

// image takes the name of an image apart, which comes together as it was.
func image(name string) map[string]any {
	out := map[string]any{"registry": "", "tag": "", "digest": ""}
	name, digest, _ := strings.Cut(name, "@")
	if digest != "" {
		out["digest"] = digest
	}
	if colon := strings.LastIndex(name, ":"); colon > strings.LastIndex(name, "/") {
		out["tag"], name = name[colon+1:], name[:colon]
	} else if digest == "" {
		out["tag"] = "latest" // what a name without one means
	}
	if host, rest, found := strings.Cut(name, "/"); found && (strings.ContainsAny(host, ".:") || host == "localhost") {
		out["registry"], name = host, rest
	}
	out["repository"] = name
	return out
}

// YAML returns objects as kubectl reads them.
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
