// Package aggregate adds up what the clusters report about one binding.
package aggregate
