"""What was learned, and the file it is kept in. Reads trees and features; never fits anything."""
