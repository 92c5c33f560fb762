package dashboard

import (
	"context"
	"fmt"

	"fairlead.dev/common/contract"
	"fairlead.dev/hub/people/operate"
	"fairlead.dev/hub/people/view/clusters"
)

func (s *Server) askCordon(ctx context.Context, v *visit) (*question, error) {
	name, row, err := s.askedCluster(ctx, v)
	if err != nil {
		return nil, err
	}
	q := &question{
		Title: "Cordon " + name + "?", Button: "Cordon", Back: clusterPath(name), Danger: true,
		Text:    "Nothing new is sent to this cluster. What runs there stays, and is kept up to date.",
		Options: []option{{Name: "evict", Text: "Also move away what runs there, as fast as the policies and the rate of evictions allow, unless it tolerates the taint."}},
	}
	if row.Works != nil && row.Works.Total > 0 {
		q.Points = append(q.Points, plural(row.Works.Total, "object")+" of this hub "+isOrAre(row.Works.Total)+" in this cluster at present.")
	}
	return q, nil
}

func isOrAre(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

func (s *Server) doCordon(ctx context.Context, v *visit) (string, string, error) {
	name := v.request.PathValue("cluster")
	evict := v.request.PostForm.Get("evict") == "yes"
	if _, err := operate.Cordon(ctx, v.user.Hub, name, evict, contract.FieldManagerDashboard); err != nil {
		return "", "", err
	}
	notice := fmt.Sprintf("Cluster %s is cordoned: nothing new is sent there.", name)
	if evict {
		notice = fmt.Sprintf("Cluster %s is cordoned: nothing new is sent there, and what does not tolerate it is moved away.", name)
	}
	return notice, clusterPath(name), nil
}

func (s *Server) askUncordon(ctx context.Context, v *visit) (*question, error) {
	name, _, err := s.askedCluster(ctx, v)
	if err != nil {
		return nil, err
	}
	return &question{
		Title: "Uncordon " + name + "?", Button: "Uncordon", Back: clusterPath(name),
		Text: "This cluster is chosen again. What was moved away returns only if its policy says so.",
	}, nil
}

func (s *Server) doUncordon(ctx context.Context, v *visit) (string, string, error) {
	name := v.request.PathValue("cluster")
	if _, err := operate.Uncordon(ctx, v.user.Hub, name, contract.FieldManagerDashboard); err != nil {
		return "", "", err
	}
	return fmt.Sprintf("Cluster %s is not cordoned any more.", name), clusterPath(name), nil
}

// askedCluster returns the cluster in the path, if the person may change it.
func (s *Server) askedCluster(ctx context.Context, v *visit) (string, clusters.Cluster, error) {
	name := v.request.PathValue("cluster")
	if err := v.user.Require(ctx, changesCluster(name)); err != nil {
		return name, clusters.Cluster{}, err
	}
	visible, err := s.visibility(ctx, v.user)
	if err != nil {
		return name, clusters.Cluster{}, err
	}
	row, ok := s.index.Cluster(name, v.now, clusterDetails(visible))
	if !ok {
		return name, row, notFoundError{fmt.Sprintf("The hub has no cluster %q.", name)}
	}
	return name, row, nil
}
