package pods

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"fairlead.dev/hub/people/pods/owned"
)

// search finds the pods of an application in one member.
type search struct {
	member
	app  Application
	tree *owned.Tree
	// pods are the pods that may belong to the application.
	pods     []owned.Candidate
	selector string
	version  string
	more     bool
}

// workload has the fields that are read of a workload of any kind.
type workload struct {
	Metadata struct {
		UID types.UID `json:"uid"`
	} `json:"metadata"`
	Spec struct {
		Selector json.RawMessage `json:"selector"`
	} `json:"spec"`
}

func (s *search) run(ctx context.Context) error {
	if s.app.Namespace == "" {
		return fmt.Errorf("a %s is not namespaced, so it has no pods of its own", s.app.Kind)
	}
	if s.app.Resource.Group == "" && s.app.Kind == "Pod" {
		return s.onePod(ctx)
	}
	var object workload
	if err := s.get(ctx, s.url(s.listPath(s.app.Resource)+"/"+s.app.Name, nil), asJSON, &object); err != nil {
		return err
	}
	s.tree = owned.NewTree(object.Metadata.UID)
	s.selector = selectorOf(object.Spec.Selector)
	if err := s.listPods(ctx); err != nil {
		return err
	}
	return s.readOwners(ctx)
}

// onePod reads the pod of an application that is a pod itself.
func (s *search) onePod(ctx context.Context) error {
	var pod owned.Object
	if err := s.get(ctx, s.url(s.listPath(podsResource)+"/"+s.app.Name, nil), asJSON, &pod); err != nil {
		return err
	}
	s.tree, s.version = owned.NewTree(pod.UID), pod.ResourceVersion
	s.add(&pod)
	return nil
}

// add adds a pod that may belong to the application. Names from a member become part of paths that are requested with
// the rights of the user, so pods of another namespace or with an invalid name are dropped.
func (s *search) add(pod *owned.Object) {
	if pod.Namespace == s.app.Namespace && len(validation.IsDNS1123Subdomain(pod.Name)) == 0 {
		s.pods = append(s.pods, owned.CandidateOf(pod))
	}
}

// podsResource are the pods of a member.
var podsResource = corev1.SchemeGroupVersion.WithResource("pods") //nolint:gochecknoglobals // It is constant.

// listPath returns the path of the objects of a kind in the application's namespace.
func (s *search) listPath(of schema.GroupVersionResource) string {
	root := "/api/" + of.Version
	if of.Group != "" {
		root = "/apis/" + of.Group + "/" + of.Version
	}
	return root + "/namespaces/" + s.app.Namespace + "/" + of.Resource
}

// selectorOf returns the label selector of a workload; empty if its kind has none. It only reduces the pods to read:
// controllers determine which ones belong to the workload.
func selectorOf(raw json.RawMessage) string {
	var full metav1.LabelSelector
	if json.Unmarshal(raw, &full) != nil || len(full.MatchLabels)+len(full.MatchExpressions) == 0 {
		full = metav1.LabelSelector{}
		if json.Unmarshal(raw, &full.MatchLabels) != nil {
			return "" // the kind has another type of selector
		}
	}
	selector, err := metav1.LabelSelectorAsSelector(&full)
	if err != nil {
		return ""
	}
	return selector.String()
}

func (s *search) listPods(ctx context.Context) error {
	query := url.Values{"limit": {strconv.Itoa(pageSize)}}
	if s.selector != "" {
		query.Set("labelSelector", s.selector)
	}
	left, items := s.allowance(), 0
	take := func(raw json.RawMessage) error {
		items++
		var pod owned.Object
		if err := json.Unmarshal(raw, &pod); err != nil {
			return err
		}
		s.add(&pod)
		return nil
	}
	for range maxPages {
		items = 0
		list, more, err := s.list(ctx, s.url(s.listPath(podsResource), query), asJSON, pageSize, left, take)
		if isTooMuch(err) && len(s.pods) > 0 {
			break
		}
		if err != nil {
			return err
		}
		s.version = list.ResourceVersion
		if list.Continue == "" && !more {
			return nil
		}
		if more || len(s.pods) >= maxPods || items == 0 {
			break
		}
		query.Set("continue", list.Continue)
	}
	s.more = true
	return nil
}

// between are the built-in kinds that may be controllers between a workload and its pods.
var between = map[schema.GroupKind]schema.GroupVersionResource{ //nolint:gochecknoglobals // It is constant.
	{Group: "apps", Kind: "ReplicaSet"}:  {Group: "apps", Version: "v1", Resource: "replicasets"},
	{Group: "apps", Kind: "Deployment"}:  {Group: "apps", Version: "v1", Resource: "deployments"},
	{Group: "apps", Kind: "StatefulSet"}: {Group: "apps", Version: "v1", Resource: "statefulsets"},
	{Group: "apps", Kind: "DaemonSet"}:   {Group: "apps", Version: "v1", Resource: "daemonsets"},
	{Group: "batch", Kind: "Job"}:        {Group: "batch", Version: "v1", Resource: "jobs"},
	{Group: "batch", Kind: "CronJob"}:    {Group: "batch", Version: "v1", Resource: "cronjobs"},
}

// readOwners reads the controllers between the pods and the application.
func (s *search) readOwners(ctx context.Context) error {
	left := s.allowance()
	asked := map[schema.GroupKind]bool{}
	for {
		found := false
		for _, kind := range s.tree.Unknown(s.pods) {
			resource, known := between[kind]
			if !known || asked[kind] || kind.Kind == s.app.Kind && kind.Group == s.app.Resource.Group {
				continue
			}
			asked[kind], found = true, true
			if err := s.addAll(ctx, resource, left); err != nil {
				return err
			}
		}
		if !found {
			return nil
		}
	}
}

// addAll reads the controllers of the objects of a kind, within the allowance. Those of a Deployment have the labels of
// its selector.
func (s *search) addAll(ctx context.Context, resource schema.GroupVersionResource, left *allowance) error {
	query := url.Values{"limit": {strconv.Itoa(pageSize)}}
	if s.app.Kind == "Deployment" && s.selector != "" {
		query.Set("labelSelector", s.selector)
	}
	for range maxPages {
		items := 0
		list, more, err := s.list(ctx, s.url(s.listPath(resource), query), asMetadata, pageSize, left, func(raw json.RawMessage) error {
			var of metav1.PartialObjectMetadata
			if err := json.Unmarshal(raw, &of); err != nil {
				return err
			}
			s.tree.Add(&of)
			items++
			return nil
		})
		if isTooMuch(err) || err == nil && more {
			break
		}
		if err != nil {
			return err
		}
		if list.Continue == "" || items == 0 {
			return nil
		}
		query.Set("continue", list.Continue)
	}
	s.more = true
	return nil
}
