package score

// Names of the scorers.
const (
	ClusterLocality = "ClusterLocality"
	ClusterAffinity = "ClusterAffinity"
)

// localityScore is what a cluster gets that has the application already.
const localityScore = 100

// Score is what one scorer says.
type Score struct {
	// Plugin is the name of the scorer.
	Plugin string `json:"plugin"`
	Value  int64  `json:"value"`
}

// Of scores a cluster that passed the filters: the sum of what the scorers say.
func Of(target bool) int64 {
	if target {
		return localityScore
	}
	return 0
}

// ByPlugin says what each scorer contributes to Of, by name.
func ByPlugin(target bool) []Score {
	return []Score{{Plugin: ClusterAffinity}, {Plugin: ClusterLocality, Value: Of(target)}}
}
