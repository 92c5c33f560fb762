package pods

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"

	"golang.org/x/sync/errgroup"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"fairlead.dev/hub/people/pods/owned"
)

// Bounds of a search.
const (
	// atOnce is how many clusters are asked at the same time.
	atOnce = 16
	// maxPods is how many pods are read of one cluster, pageSize how many with one request.
	maxPods  = 5000
	pageSize = 500
	// maxPages is for a member whose pages are smaller than that.
	maxPages = 2 * maxPods / pageSize
)

// Application is a workload, as its clusters have it.
type Application struct {
	// Resource and Kind are those of the object.
	Resource schema.GroupVersionResource
	Kind     string
	// Namespace and Name are the same in all clusters.
	Namespace, Name string
}

// Found is what a cluster has of an application.
type Found struct {
	Cluster string      `json:"cluster"`
	Pods    []owned.Pod `json:"pods"`
	// Error says why the pods are not known, in the words of whoever refused; Reason is that of the API's answer.
	Error  string              `json:"error,omitempty"`
	Reason metav1.StatusReason `json:"reason,omitempty"`
	// More says that there are more pods than are read.
	More bool `json:"more,omitempty"`

	err error
	// selector and version are from where on changes of the pods are followed.
	selector, version string
}

// Err returns why the pods are not known; nil if they are.
func (f *Found) Err() error { return f.err }

// Find asks clusters for the pods of an application, several at once, and returns what each said, in the order of the names
// given. It fails only if the context ends.
func (m *Members) Find(ctx context.Context, app Application, clusters []string) ([]Found, error) {
	out := make([]Found, len(clusters))
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(atOnce)
	for i, name := range clusters {
		g.Go(func() error {
			out[i] = m.FindIn(gctx, app, name)
			return gctx.Err()
		})
	}
	return out, g.Wait()
}

// FindIn asks one cluster for the pods of an application.
func (m *Members) FindIn(ctx context.Context, app Application, cluster string) Found {
	s := search{member: member{m, cluster}, app: app}
	out := Found{Cluster: cluster, Pods: []owned.Pod{}}
	if err := s.run(ctx); err != nil {
		if errors.Is(err, errLargeObject) {
			err = fmt.Errorf("what %s answers is refused: %w", cluster, err)
		}
		out.err, out.Error, out.Reason = err, Sentence(err), apierrors.ReasonForError(err)
		return out
	}
	for i := range s.pods {
		if s.tree.Owns(&s.pods[i]) {
			out.Pods = append(out.Pods, s.pods[i].Pod)
		}
	}
	slices.SortFunc(out.Pods, func(a, b owned.Pod) int { return cmp.Compare(a.Name, b.Name) })
	out.More, out.selector, out.version = s.more, s.selector, s.version
	return out
}

// Sentence says why a member did not answer as it should, in the words of whoever refused.
func Sentence(err error) string {
	var network *url.Error
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Sprintf("there was no answer in %s", askTimeout)
	case errors.As(err, &network):
		return network.Err.Error() // the address is long, and says nothing to people
	default:
		return err.Error()
	}
}

// search looks for the pods of an application in one member.
type search struct {
	member
	app  Application
	tree *owned.Tree
	// pods are those that may be of the application.
	pods     []owned.Candidate
	selector string
	version  string
	more     bool
}

// workload is what is read of an object of any kind.
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
		return fmt.Errorf("a %s is in no namespace, and so has no pods of its own", s.app.Kind)
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

// onePod is for an application that is a pod.
func (s *search) onePod(ctx context.Context) error {
	var pod owned.Object
	if err := s.get(ctx, s.url(s.listPath(podsResource)+"/"+s.app.Name, nil), asJSON, &pod); err != nil {
		return err
	}
	s.tree, s.version = owned.NewTree(pod.UID), pod.ResourceVersion
	s.add(&pod)
	return nil
}

// add takes over a pod that may be of the application. What a member tells becomes part of paths that are asked for with the rights of
// whoever looks: a pod of another namespace, or with a name that no pod has, is left out.
func (s *search) add(pod *owned.Object) {
	if pod.Namespace == s.app.Namespace && len(validation.IsDNS1123Subdomain(pod.Name)) == 0 {
		s.pods = append(s.pods, owned.CandidateOf(pod))
	}
}

// podsResource are the pods of a member.
var podsResource = corev1.SchemeGroupVersion.WithResource("pods") //nolint:gochecknoglobals // It is constant.

// listPath is where the objects of a kind are in the application's namespace.
func (s *search) listPath(of schema.GroupVersionResource) string {
	root := "/api/" + of.Version
	if of.Group != "" {
		root = "/apis/" + of.Group + "/" + of.Version
	}
	return root + "/namespaces/" + s.app.Namespace + "/" + of.Resource
}

// selectorOf returns the label selector of a workload, by which fewer pods are asked for: whose they are their controllers
// say. It is empty for kinds that have none.
func selectorOf(raw json.RawMessage) string {
	var full metav1.LabelSelector
	if json.Unmarshal(raw, &full) != nil || len(full.MatchLabels)+len(full.MatchExpressions) == 0 {
		full = metav1.LabelSelector{}
		if json.Unmarshal(raw, &full.MatchLabels) != nil {
			return "" // of a kind with a selector of its own
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

// between are the kinds of Kubernetes that control pods for others.
var between = map[schema.GroupKind]schema.GroupVersionResource{ //nolint:gochecknoglobals // It is constant.
	{Group: "apps", Kind: "ReplicaSet"}:  {Group: "apps", Version: "v1", Resource: "replicasets"},
	{Group: "apps", Kind: "Deployment"}:  {Group: "apps", Version: "v1", Resource: "deployments"},
	{Group: "apps", Kind: "StatefulSet"}: {Group: "apps", Version: "v1", Resource: "statefulsets"},
	{Group: "apps", Kind: "DaemonSet"}:   {Group: "apps", Version: "v1", Resource: "daemonsets"},
	{Group: "batch", Kind: "Job"}:        {Group: "batch", Version: "v1", Resource: "jobs"},
	{Group: "batch", Kind: "CronJob"}:    {Group: "batch", Version: "v1", Resource: "cronjobs"},
}

// readOwners reads what is between the pods and the application.
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

// addAll reads what controls the objects of a kind, as far as something is left for that. Those of a Deployment have the labels that it
// selects by.
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
