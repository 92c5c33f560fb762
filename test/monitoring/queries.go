package monitoring

import (
	"fmt"
	"slices"
	"strings"
	"text/template"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"

	"k8s.io/apimachinery/pkg/util/duration"

	"sigs.k8s.io/yaml"

	"fairlead.dev/manifests"
)

// Query is a query of a dashboard or a rule.
type Query struct {
	// Where describes its place to people.
	Where string
	Expr  string
}

// Rule is an alert.
type Rule struct {
	Alert         string            `json:"alert"`
	Expr          string            `json:"expr"`
	For           string            `json:"for"`
	KeepFiringFor string            `json:"keep_firing_for"`
	Labels        map[string]string `json:"labels"`
	Annotations   map[string]string `json:"annotations"`
}

// Rules reads the alerts.
func Rules() ([]Rule, error) {
	data, err := manifests.Monitoring("alerts.yaml")
	if err != nil {
		return nil, err
	}
	var file struct {
		Groups []struct {
			Name  string `json:"name"`
			Rules []Rule `json:"rules"`
		} `json:"groups"`
	}
	if err := yaml.UnmarshalStrict(data, &file); err != nil {
		return nil, fmt.Errorf("reading the alert rules: %w", err)
	}
	var out []Rule
	for _, g := range file.Groups {
		out = append(out, g.Rules...)
	}
	return out, nil
}

// Dashboard is the part of a Grafana dashboard that is tested.
type Dashboard struct {
	UID        string `json:"uid"`
	Title      string `json:"title"`
	Templating struct {
		List []Variable `json:"list"`
	} `json:"templating"`
	Panels []struct {
		ID          int    `json:"id"`
		Title       string `json:"title"`
		Description string `json:"description"`
		GridPos     struct {
			X, Y, W, H int
		} `json:"gridPos"`
		Targets []struct {
			Expr string `json:"expr"`
		} `json:"targets"`
	} `json:"panels"`
}

// Variable is what people choose of a dashboard, such as the fleet that it shows.
type Variable struct {
	Name string `json:"name"`
	Type string `json:"type"`
	// Query is that for its values, label_values(SERIES, LABEL), or the type of a data source.
	Query string `json:"query"`
}

// Asks returns whose values a variable has, and of which label. It says false of one that asks nothing.
func (v *Variable) Asks() (selector, label string, ok bool) {
	inner, isQuery := strings.CutPrefix(v.Query, "label_values(")
	at := strings.LastIndex(inner, ",")
	if v.Type != "query" || !isQuery || at < 0 {
		return "", "", false
	}
	return inner[:at], strings.TrimSpace(strings.TrimSuffix(inner[at+1:], ")")), true
}

// DashboardNames are the files of the dashboards.
func DashboardNames() []string { return []string{"fleet.json", "agents.json"} }

// Dashboards reads the dashboards.
func Dashboards() ([]Dashboard, error) {
	var out []Dashboard
	for _, name := range DashboardNames() {
		data, err := manifests.Monitoring(name)
		if err != nil {
			return nil, err
		}
		var d Dashboard
		if err := yaml.Unmarshal(data, &d); err != nil {
			return nil, fmt.Errorf("reading dashboard %s: %w", name, err)
		}
		out = append(out, d)
	}
	return out, nil
}

// Queries returns all queries of dashboards and rules.
func Queries() ([]Query, error) {
	rules, err := Rules()
	if err != nil {
		return nil, err
	}
	var out []Query
	for _, r := range rules {
		out = append(out, Query{Where: "alert " + r.Alert, Expr: r.Expr})
	}
	dashboards, err := Dashboards()
	if err != nil {
		return nil, err
	}
	for i := range dashboards {
		out = append(out, dashboards[i].Queries()...)
	}
	return out, nil
}

// Queries returns all that a dashboard asks, with its variables as they are.
func (d *Dashboard) Queries() []Query {
	var out []Query
	for _, v := range d.Templating.List {
		if selector, _, ok := v.Asks(); ok {
			out = append(out, Query{Where: d.Title + ", variable " + v.Name, Expr: selector})
		}
	}
	return append(out, d.PanelQueries()...)
}

// PanelQueries returns what the panels of a dashboard ask.
func (d *Dashboard) PanelQueries() []Query {
	var out []Query
	for _, p := range d.Panels {
		for _, t := range p.Targets {
			// Grafana puts the range in that fits the width of the panel.
			expr := strings.ReplaceAll(t.Expr, "$__rate_interval", "5m")
			out = append(out, Query{Where: d.Title + ", panel " + p.Title, Expr: expr})
		}
	}
	return out
}

// Series is what a query asks for: a metric, with equal values of labels.
type Series struct {
	Metric string
	Labels map[string]string
}

// Asks returns the series used by a query, sorted by metric.
func (q Query) Asks() ([]Series, error) {
	expr, err := parser.ParseExpr(q.Expr)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", q.Where, err)
	}
	var out []Series
	for _, matchers := range parser.ExtractSelectors(expr) {
		s := Series{Labels: map[string]string{}}
		for _, m := range matchers {
			switch {
			case m.Name == model.MetricNameLabel:
				s.Metric = m.Value
			case m.Type == labels.MatchEqual:
				s.Labels[m.Name] = m.Value
			}
		}
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b Series) int { return strings.Compare(a.Metric, b.Metric) })
	return out, nil
}

// Text expands an annotation of a rule, as Prometheus does.
func Text(annotation string, values map[string]string, value float64) (string, error) {
	number := func(v float64) string { return fmt.Sprintf("%.4g", v) }
	t, err := template.New("").Option("missingkey=error").Funcs(template.FuncMap{
		"humanize":           number,
		"humanizeDuration":   func(v float64) string { return duration.HumanDuration(time.Duration(v * float64(time.Second))) },
		"humanizePercentage": func(v float64) string { return number(v*100) + "%" },
	}).Parse("{{$labels := .Labels}}{{$value := .Value}}" + annotation)
	if err != nil {
		return "", fmt.Errorf("reading %q: %w", annotation, err)
	}
	var out strings.Builder
	if err := t.Execute(&out, map[string]any{"Labels": values, "Value": value}); err != nil {
		return "", fmt.Errorf("filling in %q: %w", annotation, err)
	}
	return out.String(), nil
}
