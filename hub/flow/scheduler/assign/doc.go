// Package assign says how many replicas each of the chosen clusters gets.
package assign
