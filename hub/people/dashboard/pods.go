package dashboard

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"fairlead.dev/hub/people/pods"
	"fairlead.dev/hub/people/pods/owned"
	"fairlead.dev/hub/people/view/applications"
)

// podsTimeout bounds how long a page waits for members.
const podsTimeout = 40 * time.Second

// podList are the pods of an application, by cluster.
type podList struct {
	Rows   []podRow
	Paging paging
	Again  string
	// All is the address of the logs of all clusters.
	All string
}

// podRow is a pod, or the reason why a cluster's pods are not available.
type podRow struct {
	Cluster string
	*owned.Pod
	Why            string
	Logs, Terminal string
}

// hasPods says whether an application is of a kind with pods.
func hasPods(a *applications.Application) bool {
	return a.Namespace != "" && (a.Replicas > 0 || slices.Contains([]string{"Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Job", "CronJob", "Pod"}, a.Kind))
}

// workload returns an application as its clusters know it.
func (s *Server) workload(a *applications.Application) (pods.Application, error) {
	gvk := schema.FromAPIVersionAndKind(a.APIVersion, a.Kind)
	mapping, err := s.Mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return pods.Application{}, fmt.Errorf("looking up kind %q: %w", a.Kind, err)
	}
	return pods.Application{Resource: mapping.Resource, Kind: a.Kind, Namespace: a.Namespace, Name: a.Name}, nil
}

// membersOf returns access to members with the rights of the person.
func membersOf(v *visit) (*pods.Members, error) {
	if v.user.Config == nil {
		return nil, badRequestError{"You cannot reach into members here."}
	}
	return pods.NewMembers(v.user.Config)
}

// placesOf returns the named cluster, or all clusters of the application.
func placesOf(a *applications.Application, cluster string) ([]string, error) {
	all := a.Everywhere()
	if cluster == "" {
		return all, nil
	}
	if !slices.Contains(all, cluster) {
		return nil, notFoundError{a.String() + " is not in this cluster."}
	}
	return []string{cluster}, nil
}

// readingMembers wraps a page that waits for members, of which only maxMemberReads may wait at once.
func (s *Server) readingMembers(of pageFunc) pageFunc {
	return func(ctx context.Context, v *visit) (*page, error) {
		leave, ok := s.memberReads.Acquire(v.user)
		if !ok {
			return nil, errTooManyMemberReads
		}
		defer leave()
		return of(ctx, v)
	}
}

// podsPage shows the pods of an application. Members are only asked when the page is loaded.
func (s *Server) podsPage(ctx context.Context, v *visit) (*page, error) {
	a, err := s.readApplication(ctx, v)
	if err != nil {
		return nil, err
	}
	clusters, err := placesOf(a, v.text("cluster"))
	if err != nil {
		return nil, err
	}
	app, err := s.workload(a)
	if err != nil {
		return nil, err
	}
	members, err := membersOf(v)
	if err != nil {
		return nil, err
	}
	shown, paging := pageOf(v, "page", "cluster", clusters, rowsPerPage)
	ctx, cancel := context.WithTimeout(ctx, podsTimeout)
	defer cancel()
	found, err := members.Find(ctx, app, shown)
	if err != nil {
		return nil, err
	}
	list := podList{Paging: paging, Again: v.with(), All: podPath(a, "logs", v.text("cluster"), "", "")}
	for i := range found {
		f := &found[i]
		for j := range f.Pods {
			p := &f.Pods[j]
			list.Rows = append(list.Rows, podRow{
				Cluster: f.Cluster, Pod: p,
				Logs: podPath(a, "logs", f.Cluster, p.Name, ""), Terminal: podPath(a, "terminal", f.Cluster, p.Name, p.Default),
			})
		}
		switch {
		case f.Err() != nil:
			list.Rows = append(list.Rows, podRow{Cluster: f.Cluster, Why: f.Error})
		case len(f.Pods) == 0:
			list.Rows = append(list.Rows, podRow{Cluster: f.Cluster, Why: "It has no pods of this application."})
		case f.More:
			list.Rows = append(list.Rows, podRow{Cluster: f.Cluster, Why: "It has more pods than are shown."})
		}
	}
	p := podPage(a, "Pods")
	p.fragments = []fragment{{id: "pods", template: "pods", data: list}}
	return p, nil
}

// podPage returns a page about an application's pods, without its content.
func podPage(a *applications.Application, title string) *page {
	return &page{
		title: title + " of " + a.Name, nav: "applications",
		heading: heading{Title: title, Trail: []link{
			{Text: "Applications", To: "/applications"},
			{Text: a.Namespace, To: "/applications?namespace=" + a.Namespace},
			{Text: a.Name, To: appPath(a.Namespace, a.Binding)},
		}},
	}
}

// podPath returns the address of a page about an application's pods; empty parameters are omitted.
func podPath(a *applications.Application, part, cluster, pod, container string) string {
	query := url.Values{}
	for key, value := range map[string]string{"cluster": cluster, "pod": pod, "container": container} {
		if value != "" {
			query.Set(key, value)
		}
	}
	path := appPath(a.Namespace, a.Binding) + "/" + part
	if len(query) == 0 {
		return path
	}
	return path + "?" + query.Encode()
}

// Limits of open logs and terminals, and of requests that wait for members.
const (
	maxPodStreams       = 200
	maxPodStreamsOfOne  = 8
	maxMemberReads      = 64
	maxMemberReadsOfOne = 8
)
