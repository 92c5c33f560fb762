package connect

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"

	"fairlead.dev/hub/fleet/connect/lines"
	"fairlead.dev/hub/fleet/connect/route"
	"fairlead.dev/hub/fleet/connect/show"
)

// list responds with the lines of this and the other replicas.
func (s *Server) list(w http.ResponseWriter, r *http.Request, target route.Target) {
	query := r.URL.Query()
	if (r.Method != http.MethodGet && r.Method != http.MethodHead) || query.Get("watch") == "true" || query.Get("watch") == "1" {
		s.refuse(w, r, refusal{reason: metav1.StatusReasonMethodNotAllowed, message: "lines can only be read and listed"})
		return
	}
	var others map[string][]lines.State
	if s.Peers != nil {
		others = s.Peers.Lines()
	}
	items := show.Merge(s.Replica, s.Lines.States(), others)
	if target.Kind == route.Line {
		items = slices.DeleteFunc(items, func(l show.Line) bool { return l.Name != target.Cluster })
		if len(items) == 0 {
			s.refuse(w, r, refusal{
				reason: metav1.StatusReasonNotFound, cluster: target.Cluster,
				message: fmt.Sprintf("%s has had no line since this hub started", target.Cluster),
			})
			return
		}
	} else if selector := query.Get("fieldSelector"); selector != "" {
		parsed, err := fields.ParseSelector(selector)
		if err != nil {
			s.refuse(w, r, refusal{reason: metav1.StatusReasonBadRequest, message: fmt.Sprintf("the field selector: %v", err)})
			return
		}
		items = slices.DeleteFunc(items, func(l show.Line) bool { return !parsed.Matches(fields.Set{"metadata.name": l.Name}) })
	}
	switch {
	case wantsTable(r.Header):
		table, err := show.Table(items, s.Clock.Now())
		if err != nil {
			s.refuse(w, r, refusal{reason: metav1.StatusReasonInternalError, message: err.Error()})
			return
		}
		answerAs(w, http.StatusOK, tableType, table)
	case target.Kind == route.Line:
		answer(w, http.StatusOK, items[0])
	default:
		answer(w, http.StatusOK, show.List(items))
	}
}

const tableType = "application/json;as=Table;g=meta.k8s.io;v=v1"

// wantsTable says whether the client prefers the answer as a Table.
func wantsTable(h http.Header) bool {
	first, _, _ := strings.Cut(strings.ReplaceAll(strings.Join(h.Values("Accept"), ","), " ", ""), ",")
	return strings.Contains(first, "as=Table") && strings.Contains(first, "g=meta.k8s.io") && strings.Contains(first, "v=v1") && !strings.Contains(first, "v=v1beta1")
}

// aggregatedType is the media type of aggregated discovery.
const aggregatedType = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

// discover answers discovery requests.
func (s *Server) discover(w http.ResponseWriter, r *http.Request, target route.Target) {
	switch {
	case target.Kind == route.Groups && wantsAggregated(r.Header):
		answerAs(w, http.StatusOK, aggregatedType, show.Aggregated())
	case target.Kind == route.Groups:
		answer(w, http.StatusOK, show.Groups())
	case target.Kind == route.Group:
		answer(w, http.StatusOK, show.Group())
	case target.Kind == route.Version:
		answer(w, http.StatusOK, show.Resources())
	case target.Rest == "/openapi/v3":
		answer(w, http.StatusOK, show.OpenAPIRoot())
	case target.Rest == show.OpenAPIPath:
		answer(w, http.StatusOK, show.OpenAPIv3())
	case target.Rest == "/openapi/v2":
		answer(w, http.StatusOK, show.OpenAPIv2())
	default:
		s.refuse(w, r, refusal{reason: metav1.StatusReasonNotFound, message: "the API of lines has no such description"})
	}
}

// wantsAggregated says whether the client accepts aggregated discovery v2.
func wantsAggregated(h http.Header) bool {
	for accepted := range strings.SplitSeq(strings.Join(h.Values("Accept"), ","), ",") {
		parts := strings.Split(strings.ReplaceAll(accepted, " ", ""), ";")
		if parts[0] == "application/json" && slices.Contains(parts, "as=APIGroupDiscoveryList") && slices.Contains(parts, "v=v2") {
			return true
		}
	}
	return false
}
